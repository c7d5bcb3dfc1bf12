//! Placeholder until the real one is merged.
use super::ids::QueueId;
use crate::wire::*;
#[derive(Clone, Debug, Hash)]
pub struct Binding {
    pub queue: QueueId,
    pub key: Text,
    pub arguments: Map,
    pub matched: u64,
}
#[derive(Clone, Debug, Hash)]
pub struct Kind {
    v: Vec<Binding>,
}
pub struct BindError;
impl BindError {
    pub fn code(&self) -> ErrorCode {
        ErrorCode::INTERNAL_ERROR
    }
}
impl std::fmt::Display for BindError {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}
impl Kind {
    pub fn of_type(_: &str) -> Option<Kind> {
        Some(Kind { v: vec![] })
    }
    pub fn type_name(&self) -> &'static str {
        "direct"
    }
    pub fn bind(&mut self, queue: QueueId, key: &str, a: &Map) -> Result<bool, BindError> {
        self.v.push(Binding {
            queue,
            key: key.into(),
            arguments: a.clone(),
            matched: 0,
        });
        Ok(true)
    }
    pub fn restore(
        &mut self,
        queue: QueueId,
        key: &str,
        a: &Map,
        matched: u64,
    ) -> Result<(), BindError> {
        self.v.push(Binding {
            queue,
            key: key.into(),
            arguments: a.clone(),
            matched,
        });
        Ok(())
    }
    pub fn unbind(&mut self, _q: QueueId, _k: &str) -> bool {
        false
    }
    pub fn unbind_queue(&mut self, _q: QueueId) -> usize {
        0
    }
    pub fn bindings(&self) -> impl Iterator<Item = &Binding> {
        self.v.iter()
    }
    pub fn binding_count(&self) -> usize {
        self.v.len()
    }
    pub fn route(&mut self, _k: &str, _h: &mut dyn FnMut() -> Option<Map>, _m: &mut Vec<QueueId>) {}
}
pub fn bound_result(
    _e: Option<(&Kind, bool)>,
    _q: Option<QueueId>,
    _b: &ExchangeBound,
) -> ExchangeBoundResult {
    Default::default()
}
