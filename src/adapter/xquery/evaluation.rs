//! What a query gives for one message.

use roxmltree::Node;

use super::expression::{Axis, Binding, Comparison, Expression, Module, Operator, Test};
use super::functions;
use super::value::{Atom, Item, Sequence, compare};
use super::{QueryError, error};
use crate::wire::{Map, Value};

/// How many octets of text one step is.
const OCTETS_PER_STEP: usize = 64;

/// The item at hand, and its place among those that are looked at with it.
#[derive(Clone, Debug)]
pub(super) struct Focus<'a> {
    pub item: Option<Item<'a>>,
    pub position: usize,
    pub size: usize,
}

impl<'a> Focus<'a> {
    pub fn item(&self) -> Result<&Item<'a>, QueryError> {
        match &self.item {
            Some(item) => Ok(item),
            None => error("there is no document"),
        }
    }
}

/// A query at work.
pub(super) struct Evaluation<'a> {
    module: &'a Module,
    headers: &'a Map,
    root: Option<Node<'a, 'a>>,
    /// Values of variables, where they are known.
    slots: Vec<Option<Sequence<'a>>>,
    /// How many steps are left.
    steps: usize,
}

impl<'a> Evaluation<'a> {
    pub fn of(
        module: &'a Module,
        headers: &'a Map,
        root: Option<Node<'a, 'a>>,
        steps: usize,
    ) -> Evaluation<'a> {
        Evaluation {
            module,
            headers,
            root,
            slots: vec![None; module.slots],
            steps,
        }
    }

    /// Works the query out: whether it gives what counts as true.
    pub fn truth(mut self) -> Result<bool, QueryError> {
        let focus = Focus {
            item: self.root.map(Item::Node),
            position: 1,
            size: 1,
        };
        let module = self.module;
        self.is_so(&module.body, &focus)
    }

    fn spend(&mut self, steps: usize) -> Result<(), QueryError> {
        match self.steps.checked_sub(steps) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => error("the query takes too long"),
        }
    }

    /// Octets of text were looked at or put together.
    pub fn spend_octets(&mut self, octets: usize) -> Result<(), QueryError> {
        self.spend(octets / OCTETS_PER_STEP)
    }

    pub fn evaluate(
        &mut self,
        expression: &'a Expression,
        focus: &Focus<'a>,
    ) -> Result<Sequence<'a>, QueryError> {
        self.spend(1)?;
        match expression {
            Expression::Text(text) => Ok(vec![Item::Text(text.as_str().into())]),
            Expression::Number(number) => Ok(vec![Item::Number(*number)]),
            Expression::Variable(slot) => self.variable(*slot),
            Expression::Item => Ok(vec![focus.item()?.clone()]),
            Expression::Root => match self.root {
                Some(root) => Ok(vec![Item::Node(root)]),
                None => error("there is no document"),
            },
            Expression::Sequence(all) => {
                let mut items = Vec::new();
                for one in all {
                    items.extend(self.evaluate(one, focus)?);
                }
                Ok(items)
            }
            Expression::Or(_)
            | Expression::And(_)
            | Expression::Compare(..)
            | Expression::Some(_)
            | Expression::Every(_) => Ok(vec![Item::Truth(self.is_so(expression, focus)?)]),
            Expression::CompareOne(comparison, sides) => {
                let compared = self.compare_one(*comparison, sides, focus)?;
                Ok(compared.into_iter().map(Item::Truth).collect())
            }
            Expression::Arithmetic(operator, sides) => self.calculate(*operator, sides, focus),
            Expression::Negated(value) => {
                let value = self.evaluate(value, focus)?;
                match self.one(&value)? {
                    Some(value) => Ok(vec![Item::Number(-value.number()?)]),
                    None => Ok(Vec::new()),
                }
            }
            Expression::Union(sides) => {
                let mut nodes = self.evaluate(&sides.0, focus)?;
                nodes.extend(self.evaluate(&sides.1, focus)?);
                self.in_order(nodes)
            }
            Expression::If(parts) => match self.is_so(&parts.0, focus)? {
                true => self.evaluate(&parts.1, focus),
                false => self.evaluate(&parts.2, focus),
            },
            Expression::For(binding) => self.for_each(binding, focus),
            Expression::Let(binding) => {
                let value = self.evaluate(&binding.value, focus)?;
                self.set(binding.slot, value);
                self.evaluate(&binding.then, focus)
            }
            Expression::Where(parts) => match self.is_so(&parts.0, focus)? {
                true => self.evaluate(&parts.1, focus),
                false => Ok(Vec::new()),
            },
            Expression::Call(function, arguments) => {
                functions::call(self, *function, arguments, focus)
            }
            Expression::Path(parts) => self.path(&parts.0, &parts.1, focus),
            Expression::Step(axis, test, predicates) => {
                let found = self.along(*axis, test, focus.item()?)?;
                self.filter(found, predicates)
            }
            Expression::Filter(value, predicates) => {
                let found = self.evaluate(value, focus)?;
                self.filter(found, predicates)
            }
        }
    }

    /// Whether an expression gives what counts as true.
    fn is_so(&mut self, expression: &'a Expression, focus: &Focus<'a>) -> Result<bool, QueryError> {
        match expression {
            Expression::Or(all) => {
                for one in all {
                    if self.is_so(one, focus)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Expression::And(all) => {
                for one in all {
                    if !self.is_so(one, focus)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Expression::Compare(comparison, sides) => self.compare_any(*comparison, sides, focus),
            Expression::Some(binding) => self.quantified(binding, true, focus),
            Expression::Every(binding) => Ok(!self.quantified(binding, false, focus)?),
            _ => {
                let value = self.evaluate(expression, focus)?;
                self.truth_of(&value)
            }
        }
    }

    /// XQuery: the effective boolean value.
    pub fn truth_of(&self, value: &Sequence<'a>) -> Result<bool, QueryError> {
        match &value[..] {
            [] => Ok(false),
            [first, ..] if first.is_node() => Ok(true),
            [Item::Truth(truth)] => Ok(*truth),
            [Item::Text(text)] => Ok(!text.is_empty()),
            [Item::Number(number)] => Ok(*number != 0.0 && !number.is_nan()),
            _ => error("several values are neither true nor false"),
        }
    }

    fn set(&mut self, slot: usize, value: Sequence<'a>) {
        if let Some(found) = self.slots.get_mut(slot) {
            *found = Some(value);
        }
    }

    /// The value of a variable. That of a declared one is found when it is first asked for.
    fn variable(&mut self, slot: usize) -> Result<Sequence<'a>, QueryError> {
        if let Some(Some(value)) = self.slots.get(slot) {
            let value = value.clone();
            self.spend(value.len())?;
            return Ok(value);
        }
        let module = self.module;
        let Some(variable) = module.variables.iter().find(|found| found.slot == slot) else {
            return error("a variable without a value");
        };
        let value = match &variable.value {
            Some(value) => {
                let focus = Focus {
                    item: self.root.map(Item::Node),
                    position: 1,
                    size: 1,
                };
                self.evaluate(value, &focus)?
            }
            None => match self.headers.get(&variable.name).and_then(header) {
                Some(item) => vec![item],
                None => return error(format_args!("there is no header {}", variable.name)),
            },
        };
        self.set(slot, value.clone());
        Ok(value)
    }

    fn for_each(
        &mut self,
        binding: &'a Binding,
        focus: &Focus<'a>,
    ) -> Result<Sequence<'a>, QueryError> {
        let mut all = Vec::new();
        let items = self.evaluate(&binding.value, focus)?;
        for (place, item) in items.into_iter().enumerate() {
            self.set(binding.slot, vec![item]);
            if let Some(at) = binding.at {
                self.set(at, vec![Item::Number((place + 1) as f64)]);
            }
            all.extend(self.evaluate(&binding.then, focus)?);
        }
        Ok(all)
    }

    /// Whether an item makes the condition come to `wanted`.
    fn quantified(
        &mut self,
        binding: &'a Binding,
        wanted: bool,
        focus: &Focus<'a>,
    ) -> Result<bool, QueryError> {
        for item in self.evaluate(&binding.value, focus)? {
            self.set(binding.slot, vec![item]);
            if self.is_so(&binding.then, focus)? == wanted {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub fn atoms(&mut self, value: &Sequence<'a>) -> Result<Vec<Atom>, QueryError> {
        let mut atoms = Vec::with_capacity(value.len());
        for item in value {
            let (atom, (nodes, octets)) = item.atom();
            self.spend(1 + nodes + octets / OCTETS_PER_STEP)?;
            atoms.push(atom);
        }
        Ok(atoms)
    }

    /// The one value of a sequence that may be empty.
    pub fn one(&mut self, value: &Sequence<'a>) -> Result<Option<Atom>, QueryError> {
        match value.len() {
            0 | 1 => Ok(self.atoms(value)?.pop()),
            _ => error("several values where one is wanted"),
        }
    }

    /// The value as text; of nothing it is empty.
    pub fn text(&mut self, value: &Sequence<'a>) -> Result<String, QueryError> {
        Ok(self.one(value)?.map_or(String::new(), |atom| atom.text()))
    }

    pub fn required_number(&mut self, value: &Sequence<'a>) -> Result<f64, QueryError> {
        match self.one(value)? {
            Some(atom) => atom.number(),
            None => error("a number is missing"),
        }
    }

    fn compare_any(
        &mut self,
        comparison: Comparison,
        sides: &'a (Expression, Expression),
        focus: &Focus<'a>,
    ) -> Result<bool, QueryError> {
        let left = self.evaluate(&sides.0, focus)?;
        let left = self.atoms(&left)?;
        let right = self.evaluate(&sides.1, focus)?;
        let right = self.atoms(&right)?;
        // A pair that cannot be compared does no harm when another is so.
        let mut unequal = Ok(false);
        for one in &left {
            for other in &right {
                self.spend(1)?;
                match compare(comparison, one, other) {
                    Ok(true) => return Ok(true),
                    Ok(false) => {}
                    Err(error) => unequal = Err(error),
                }
            }
        }
        unequal
    }

    /// What a node holds is a text here.
    fn compare_one(
        &mut self,
        comparison: Comparison,
        sides: &'a (Expression, Expression),
        focus: &Focus<'a>,
    ) -> Result<Option<bool>, QueryError> {
        let left = self.evaluate(&sides.0, focus)?;
        let right = self.evaluate(&sides.1, focus)?;
        let typed = |atom| match atom {
            Atom::Untyped(text) => Atom::Text(text),
            atom => atom,
        };
        match (self.one(&left)?, self.one(&right)?) {
            (Some(left), Some(right)) => compare(comparison, &typed(left), &typed(right)).map(Some),
            _ => Ok(None),
        }
    }

    fn calculate(
        &mut self,
        operator: Operator,
        sides: &'a (Expression, Expression),
        focus: &Focus<'a>,
    ) -> Result<Sequence<'a>, QueryError> {
        let left = self.evaluate(&sides.0, focus)?;
        let right = self.evaluate(&sides.1, focus)?;
        let (Some(left), Some(right)) = (self.one(&left)?, self.one(&right)?) else {
            return Ok(Vec::new());
        };
        let (left, right) = (left.number()?, right.number()?);
        let number = match operator {
            Operator::Add => left + right,
            Operator::Subtract => left - right,
            Operator::Multiply => left * right,
            Operator::Divide => left / right,
            Operator::DivideWhole if right == 0.0 => return error("a division by zero"),
            Operator::DivideWhole => (left / right).trunc(),
            Operator::Remainder => left % right,
        };
        Ok(vec![Item::Number(number)])
    }

    /// Each item of `first` is the one at hand in `second`. Nodes come in the order of the document,
    /// each once.
    fn path(
        &mut self,
        first: &'a Expression,
        second: &'a Expression,
        focus: &Focus<'a>,
    ) -> Result<Sequence<'a>, QueryError> {
        let items = self.evaluate(first, focus)?;
        let size = items.len();
        let mut all = Vec::new();
        for (place, item) in items.into_iter().enumerate() {
            if !item.is_node() {
                return error("a path goes on from what is no node");
            }
            let focus = Focus {
                item: Some(item),
                position: place + 1,
                size,
            };
            all.extend(self.evaluate(second, &focus)?);
        }
        match all.iter().any(Item::is_node) {
            true => self.in_order(all),
            false => Ok(all),
        }
    }

    fn in_order(&mut self, nodes: Sequence<'a>) -> Result<Sequence<'a>, QueryError> {
        self.spend(nodes.len())?;
        let mut placed = Vec::with_capacity(nodes.len());
        for item in nodes {
            match item.place() {
                Some(place) => placed.push((place, item)),
                None => return error("nodes and values are mixed in a path"),
            }
        }
        placed.sort_by_key(|(place, _)| *place);
        placed.dedup_by(|(left, _), (right, _)| left == right);
        Ok(placed.into_iter().map(|(_, item)| item).collect())
    }

    /// Keeps the items that each predicate is true of; one that is a number is a position.
    fn filter(
        &mut self,
        mut items: Sequence<'a>,
        predicates: &'a [Expression],
    ) -> Result<Sequence<'a>, QueryError> {
        for predicate in predicates {
            let size = items.len();
            let mut kept = Vec::new();
            for (place, item) in items.into_iter().enumerate() {
                let focus = Focus {
                    item: Some(item.clone()),
                    position: place + 1,
                    size,
                };
                let value = self.evaluate(predicate, &focus)?;
                let is_kept = match &value[..] {
                    [Item::Number(number)] => *number == focus.position as f64,
                    _ => self.truth_of(&value)?,
                };
                if is_kept {
                    kept.push(item);
                }
            }
            items = kept;
        }
        Ok(items)
    }

    /// What a step finds, the nearest first.
    fn along(
        &mut self,
        axis: Axis,
        test: &Test,
        item: &Item<'a>,
    ) -> Result<Sequence<'a>, QueryError> {
        let node = match item {
            Item::Node(node) => *node,
            Item::Attribute(..) if axis == Axis::Own && *test == Test::Node => {
                return Ok(vec![item.clone()]);
            }
            Item::Attribute(node, _) if matches!(axis, Axis::Parent | Axis::Ancestor) => {
                let found: Vec<_> = match axis {
                    Axis::Parent => vec![*node],
                    _ => node.ancestors().collect(),
                };
                return self.taken(found.into_iter(), test);
            }
            Item::Attribute(..) => return Ok(Vec::new()),
            _ => return error("a path goes on from what is no node"),
        };
        match axis {
            Axis::Child => self.taken(node.children(), test),
            Axis::Descendant => self.taken(node.descendants().skip(1), test),
            Axis::DescendantOrSelf => self.taken(node.descendants(), test),
            Axis::Own => self.taken(std::iter::once(node), test),
            Axis::Parent => self.taken(node.parent().into_iter(), test),
            Axis::Ancestor => self.taken(node.ancestors().skip(1), test),
            Axis::AncestorOrSelf => self.taken(node.ancestors(), test),
            Axis::FollowingSibling => self.taken(node.next_siblings().skip(1), test),
            Axis::PrecedingSibling => self.taken(node.prev_siblings().skip(1), test),
            Axis::Attribute => self.attributes(node, test),
        }
    }

    fn taken(
        &mut self,
        nodes: impl Iterator<Item = Node<'a, 'a>>,
        test: &Test,
    ) -> Result<Sequence<'a>, QueryError> {
        let mut found = Vec::new();
        for node in nodes {
            self.spend(1)?;
            let is_it = match test {
                Test::Node => true,
                Test::Text => node.is_text(),
                Test::Comment => node.is_comment(),
                Test::Element => node.is_element(),
                Test::Name { namespace, local } => {
                    let name = node.tag_name();
                    node.is_element()
                        && is_named((namespace, local), (name.namespace(), name.name()))
                }
            };
            if is_it {
                found.push(Item::Node(node));
            }
        }
        Ok(found)
    }

    fn attributes(&mut self, node: Node<'a, 'a>, test: &Test) -> Result<Sequence<'a>, QueryError> {
        let mut found = Vec::new();
        for (place, attribute) in node.attributes().enumerate() {
            self.spend(1)?;
            let is_it = match test {
                Test::Node => true,
                Test::Name { namespace, local } => {
                    let name = (attribute.namespace(), attribute.name());
                    is_named((namespace, local), name)
                }
                Test::Text | Test::Comment | Test::Element => false,
            };
            if is_it {
                found.push(Item::Attribute(node, place));
            }
        }
        Ok(found)
    }
}

fn is_named(
    (namespace, local): (&Option<String>, &Option<String>),
    (of, name): (Option<&str>, &str),
) -> bool {
    let is_of = namespace
        .as_ref()
        .is_none_or(|namespace| namespace == of.unwrap_or_default());
    is_of && local.as_ref().is_none_or(|local| local == name)
}

/// The value of a header as a variable's: as in qpidd truths are numbers, and what is neither text nor
/// number is not there.
fn header<'a>(value: &Value) -> Option<Item<'a>> {
    if let Some(truth) = value.as_bool() {
        return Some(Item::Number(f64::from(u8::from(truth))));
    }
    if let Some(text) = value.as_str() {
        return Some(Item::Text(text.into()));
    }
    let whole = match value {
        Value::U64(number) => Some(*number as f64),
        _ => value.as_i64().map(|number| number as f64),
    };
    whole.or(value.as_f64()).map(Item::Number)
}
