//! Plans that are shown as JSON in the other forms of EXPLAIN, with PostgreSQL's layout.
//!
//! ```text
//! "Plan Rows": 1     <Plan-Rows>1</Plan-Rows>         Plan Rows: 1
//! "Plans": [{...}]   <Plans><Plan>...</Plan></Plans>  Plans: and a line "- " for the first field
//! "Details": ["x"]   <Details><Item>x</Item>...       Details: and lines - "x"
//! ```

use types::json::{Json, Kind};

/// The plans of `json`, an array with an object for each query, as XML.
pub fn explain_xml(json: &str) -> String {
    let mut out = String::from("<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n");
    for query in Json::new(json.as_bytes()).elements() {
        xml_element(&mut out, "Query", query, 1);
    }
    out.push_str("</explain>");
    out
}

fn xml_element(out: &mut String, name: &str, value: Json<'_>, depth: usize) {
    let pad = "  ".repeat(depth);
    // Tags have no blanks.
    let tag = name.replace(' ', "-");
    let inner = match value.kind() {
        Kind::Object | Kind::Array => {
            let mut inner = String::from("\n");
            for (key, field) in value.fields() {
                xml_element(&mut inner, &text_of(Json::new(key)), field, depth + 1);
            }
            for element in value.elements() {
                let name = if element.is_scalar() { "Item" } else { "Plan" };
                xml_element(&mut inner, name, element, depth + 1);
            }
            inner.push_str(&pad);
            inner
        }
        _ => escaped(&text_of(value)),
    };
    out.push_str(&format!("{pad}<{tag}>{inner}</{tag}>\n"));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\r', "&#x0d;")
}

/// The plans of `json`, an array with an object for each query, as YAML.
pub fn explain_yaml(json: &str) -> String {
    let mut out = String::new();
    yaml_elements(&mut out, Json::new(json.as_bytes()), 0);
    out.truncate(out.trim_end().len());
    out
}

/// A line for each element of an array, or for the first field of an element.
fn yaml_elements(out: &mut String, array: Json<'_>, depth: usize) {
    let pad = "  ".repeat(depth);
    for element in array.elements() {
        if element.is_scalar() {
            out.push_str(&format!("{pad}- {}\n", yaml_scalar(element)));
            continue;
        }
        let begin = out.len() + pad.len();
        yaml_fields(out, element, depth + 1);
        // The first line of an element has a dash in the place of its last blanks.
        if out.len() > begin + 1 {
            out.replace_range(begin..=begin, "-");
        }
    }
}

fn yaml_fields(out: &mut String, object: Json<'_>, depth: usize) {
    let pad = "  ".repeat(depth);
    for (key, value) in object.fields() {
        let key = text_of(Json::new(key));
        if value.is_scalar() {
            out.push_str(&format!("{pad}{key}: {}\n", yaml_scalar(value)));
            continue;
        }
        out.push_str(&format!("{pad}{key}: \n"));
        yaml_fields(out, value, depth + 1);
        yaml_elements(out, value, depth + 1);
    }
}

/// A value of one line: text within quotes, as JSON has it.
fn yaml_scalar(value: Json<'_>) -> String {
    String::from_utf8_lossy(value.bytes()).into_owned()
}

/// A scalar without quotes and escapes.
fn text_of(value: Json<'_>) -> String {
    let text = value.text().ok().flatten().unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{explain_xml, explain_yaml};

    const PLANS: &str = r#"[{"Plan": {"Node Type": "Sort", "Plan Rows": 1, "Details": ["a < \"b\""],
        "Plans": [{"Node Type": "Scan t"}, {"Node Type": "Scan u"}]}}]"#;

    #[test]
    fn xml_has_an_element_for_each_field() {
        let expected = "<explain xmlns=\"http://www.postgresql.org/2009/explain\">\n\
            \x20 <Query>\n    <Plan>\n      <Node-Type>Sort</Node-Type>\n\
            \x20     <Plan-Rows>1</Plan-Rows>\n\
            \x20     <Details>\n        <Item>a &lt; \"b\"</Item>\n      </Details>\n\
            \x20     <Plans>\n        <Plan>\n          <Node-Type>Scan t</Node-Type>\n\
            \x20       </Plan>\n        <Plan>\n          <Node-Type>Scan u</Node-Type>\n\
            \x20       </Plan>\n      </Plans>\n    </Plan>\n  </Query>\n</explain>";
        assert_eq!(explain_xml(PLANS), expected);
    }

    #[test]
    fn yaml_has_a_line_for_each_field() {
        let expected = "- Plan: \n    Node Type: \"Sort\"\n    Plan Rows: 1\n    Details: \n\
            \x20     - \"a < \\\"b\\\"\"\n    Plans: \n      - Node Type: \"Scan t\"\n\
            \x20     - Node Type: \"Scan u\"";
        assert_eq!(explain_yaml(PLANS), expected);
    }
}
