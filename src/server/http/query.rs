//! The query of a request.

use percent_encoding::percent_decode_str;

use super::limits::PARAMETERS_MAX;
use crate::management::http::Problem;
use crate::management::http::operations::{Operation, ParameterType};

/// Names and values, in order.
pub type Pairs = Vec<(String, String)>;

/// The parameters of a query, each of which the operation has.
///
/// # Errors
/// It is not encoded as a query is, has too many parameters, or one that the operation has not, which a
/// slip of the pen would be.
pub fn parse(query: &str, operation: &Operation) -> Result<Pairs, Problem> {
    let mut pairs = Vec::new();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let pair = (decode(name)?, decode(value)?);
        let known = operation.query.iter().find(|known| known.name == pair.0);
        let Some(known) = known else {
            let text = format!("no parameter {} here", pair.0.escape_debug());
            return Err(Problem::bad(text));
        };
        if pairs.len() >= PARAMETERS_MAX {
            let text = format!("more than {PARAMETERS_MAX} parameters");
            return Err(Problem::bad(text));
        }
        check(&known.r#type, &pair)?;
        pairs.push(pair);
    }
    Ok(pairs)
}

fn check(r#type: &ParameterType, (name, value): &(String, String)) -> Result<(), Problem> {
    let wrong = match r#type {
        ParameterType::Text(max) if value.len() > *max => format!("more than {max} octets"),
        ParameterType::Word(words) if !words.contains(&value.as_str()) => {
            format!("none of {}", words.join(", "))
        }
        ParameterType::Number(max) => match value.parse::<usize>() {
            Ok(number) if (1..=*max).contains(&number) => return Ok(()),
            _ => format!("not a number from 1 to {max}"),
        },
        ParameterType::Truth if value != "true" && value != "false" => {
            "neither true nor false".to_owned()
        }
        _ => return Ok(()),
    };
    Err(Problem::bad(format!("{name}: {wrong}")))
}

fn decode(text: &str) -> Result<String, Problem> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    let decoded = decoded.map_err(|_| Problem::bad("the query is not UTF-8"))?;
    Ok(decoded.into_owned())
}

/// Whether a flag is set.
pub fn is_set(query: &Pairs, name: &str) -> bool {
    query
        .iter()
        .any(|(key, value)| key == name && value == "true")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::management::http::operations::{ALL, Deal};

    #[test]
    fn parameters_out_of_their_bounds_are_refused() {
        let mut operations = ALL.iter();
        let list = operations.find(|operation| operation.deal == Deal::ListQueues);
        let list = list.expect("queues can be listed");
        let long = format!("name={}", "x".repeat(10_000));
        for query in [
            "page=0",
            "page=x",
            "page_size=501",
            "sort_reverse=yes",
            "other=1",
            &long,
        ] {
            assert!(parse(query, list).is_err(), "{query}");
        }
        assert!(parse("page=1&page_size=500&sort_reverse=true", list).is_ok());
    }
}
