//! The text in which Prometheus reads metrics.

use std::fmt::Write;

/// Which of the two forms of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Prometheus 0.0.4.
    Plain,
    /// OpenMetrics 1.0.
    Open,
}

impl Form {
    /// What a client that accepts these media types gets.
    pub fn of(accept: &str) -> Form {
        match accept.contains("application/openmetrics-text") {
            true => Form::Open,
            false => Form::Plain,
        }
    }

    /// Its media type.
    pub fn media(self) -> &'static str {
        match self {
            Form::Plain => "text/plain; version=0.0.4; charset=utf-8",
            Form::Open => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// What a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// It only grows while the broker runs.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// A text that metrics are written to, family by family.
#[derive(Debug)]
pub struct Exposition {
    form: Form,
    text: String,
}

impl Exposition {
    /// With nothing in it.
    pub fn new(form: Form) -> Exposition {
        let text = String::new();
        Exposition { form, text }
    }

    /// Begins a family. The name of a counter is said without `_total`, with which samples get it.
    pub fn family(&mut self, name: &str, sort: Sort, about: &str) -> Family<'_> {
        let sample = match sort {
            Sort::Counter => format!("{name}_total"),
            Sort::Gauge => name.to_owned(),
        };
        let (title, kind) = match (self.form, sort) {
            (Form::Plain, Sort::Counter) => (sample.as_str(), "counter"),
            (Form::Open, Sort::Counter) => (name, "counter"),
            (_, Sort::Gauge) => (name, "gauge"),
        };
        // A text takes whatever is written to it.
        let _ = write!(self.text, "# HELP {title} {about}\n# TYPE {title} {kind}\n");
        Family {
            text: &mut self.text,
            sample,
        }
    }

    /// A family of one sample without labels.
    pub fn one(&mut self, (name, sort, about): (&str, Sort, &str), value: u64) {
        self.family(name, sort, about).add(&[], value);
    }

    /// The whole text.
    pub fn end(mut self) -> String {
        if self.form == Form::Open {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

/// A family that gets its samples.
#[derive(Debug)]
pub struct Family<'a> {
    text: &'a mut String,
    sample: String,
}

impl Family<'_> {
    /// A sample with labels.
    pub fn add(&mut self, labels: &[(&str, &str)], value: u64) {
        self.text.push_str(&self.sample);
        for (at, (name, value)) in labels.iter().enumerate() {
            self.text.push_str(if at == 0 { "{" } else { "," });
            self.text.push_str(name);
            self.text.push_str("=\"");
            for character in value.chars() {
                match character {
                    '\\' => self.text.push_str("\\\\"),
                    '"' => self.text.push_str("\\\""),
                    '\n' => self.text.push_str("\\n"),
                    other => self.text.push(other),
                }
            }
            self.text.push('"');
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(form: Form) -> String {
        let mut text = Exposition::new(form);
        let mut family = text.family("a_b", Sort::Counter, "What it is");
        family.add(&[("queue", "q\"\\\n")], 7);
        text.one(("c", Sort::Gauge, "Another"), 1);
        text.end()
    }

    #[test]
    fn prometheus_names_families_of_counters_as_their_samples() {
        let text = "# HELP a_b_total What it is\n# TYPE a_b_total counter\n\
                    a_b_total{queue=\"q\\\"\\\\\\n\"} 7\n\
                    # HELP c Another\n# TYPE c gauge\nc 1\n";
        assert_eq!(written(Form::Plain), text);
    }

    #[test]
    fn openmetrics_names_them_without_total_and_says_where_it_ends() {
        let text = written(Form::Open);
        assert!(text.starts_with("# HELP a_b What"), "{text}");
        assert!(text.ends_with("c 1\n# EOF\n"), "{text}");
    }

    #[test]
    fn openmetrics_is_for_who_accepts_it() {
        assert_eq!(Form::of("*/*"), Form::Plain);
        let accept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
        assert_eq!(Form::of(accept), Form::Open);
    }
}
