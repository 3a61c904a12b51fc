//! Bar charts as SVG.
//!
//! ```text
//! title
//! ms |      #           series a #  series b %
//!    | # %  # %
//!    '-------------
//!      1.1  1.2
//! ```

use std::fmt::Write;

/// Bars in groups: one group for each label, in it one bar for each series.
pub(crate) struct Chart<'a> {
    /// Above all.
    pub(crate) title: &'a str,
    /// Unit of the values.
    pub(crate) unit: &'a str,
    /// Names of the series.
    pub(crate) series: Vec<&'a str>,
    /// A label and as many values as there are series; none below 0.
    pub(crate) groups: Vec<(String, Vec<f64>)>,
}

/// Pixels.
const HEIGHT: f64 = 240.0;
const TOP: f64 = 64.0;
const LEFT: f64 = 64.0;
const BOTTOM: f64 = 28.0;
const BAR: f64 = 11.0;
const GAP: f64 = 12.0;
const LEGEND: f64 = 200.0;
/// Lines across, besides that of 0.
const LINES: usize = 4;

/// Told apart also by those who do not see red or green (Okabe and Ito 2008).
const COLOURS: [&str; 7] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999"];

/// The least of 1, 2 and 5 times a power of ten that is not below `value`.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1e-9).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
    steps.into_iter().find(|step| *step >= value).unwrap_or(value)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A number without what nobody reads.
fn short(value: f64) -> String {
    let text = if value >= 10.0 { format!("{value:.0}") } else { format!("{value:.2}") };
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

impl Chart<'_> {
    /// The chart as a document.
    pub(crate) fn svg(&self) -> String {
        let group = BAR * self.series.len() as f64 + GAP;
        let plot = group * self.groups.len() as f64 + GAP;
        let legend = LEGEND * self.series.len() as f64;
        let width = LEFT + plot.max(legend).max(280.0) + GAP;
        let height = TOP + HEIGHT + BOTTOM;
        let values = self.groups.iter().flat_map(|(_, values)| values.iter().copied());
        let step = round_up(values.fold(0.0, f64::max) / LINES as f64);
        let top = step * LINES as f64;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" font-family=\"sans-serif\" \
             font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        );
        self.head(&mut out);
        for line in 0..=LINES {
            let y = TOP + HEIGHT * (1.0 - line as f64 / LINES as f64);
            let _ = writeln!(
                out,
                "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\" stroke=\"#cccccc\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT + plot,
                LEFT - 6.0,
                y + 4.0,
                short(step * line as f64)
            );
        }
        for (at, (label, values)) in self.groups.iter().enumerate() {
            let x = LEFT + GAP + group * at as f64;
            self.bars(&mut out, x, values, top);
            let middle = x + BAR * self.series.len() as f64 / 2.0;
            let y = TOP + HEIGHT + 16.0;
            let label = escaped(label);
            let _ = writeln!(
                out,
                "<text x=\"{middle:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{label}</text>"
            );
        }
        out.push_str("</svg>\n");
        out
    }

    fn head(&self, out: &mut String) {
        let (title, unit) = (escaped(self.title), escaped(self.unit));
        let _ = writeln!(
            out,
            "<text x=\"{LEFT}\" y=\"20\" font-size=\"14\" font-weight=\"bold\">{title}</text>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{unit}</text>",
            LEFT - 6.0,
            TOP - 10.0
        );
        for (at, name) in self.series.iter().enumerate() {
            let (x, colour) = (LEFT + LEGEND * at as f64, COLOURS[at % COLOURS.len()]);
            let name = escaped(name);
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"32\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\
                 <text x=\"{:.1}\" y=\"41\">{name}</text>",
                x + 14.0
            );
        }
    }

    fn bars(&self, out: &mut String, x: f64, values: &[f64], top: f64) {
        for (at, value) in values.iter().enumerate() {
            let tall = HEIGHT * value / top;
            let _ = writeln!(
                out,
                "<rect class=\"bar\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{tall:.1}\" \
                 fill=\"{}\"><title>{} {}</title></rect>",
                x + BAR * at as f64,
                TOP + HEIGHT - tall,
                BAR - 1.0,
                COLOURS[at % COLOURS.len()],
                short(*value),
                escaped(self.unit)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_tall_as_their_values() {
        let groups = vec![("1 & 2".to_owned(), vec![3.0, 6.0]), ("x".to_owned(), vec![0.0, 12.0])];
        let chart = Chart { title: "a < b", unit: "ms", series: vec!["one", "two"], groups };
        let svg = chart.svg();
        let heights: Vec<f64> = svg
            .lines()
            .filter(|line| line.contains("class=\"bar\""))
            .filter_map(|line| line.split("height=\"").nth(1)?.split('"').next()?.parse().ok())
            .collect();
        // The top line is 20.
        assert_eq!(heights, [36.0, 72.0, 0.0, 144.0]);
        assert!(svg.contains("a &lt; b") && svg.contains("1 &amp; 2") && !svg.contains("1 & 2"));
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }

    #[test]
    fn scales_end_at_round_numbers() {
        assert_eq!([0.3, 3.0, 5.1, 0.07].map(round_up), [0.5, 5.0, 10.0, 0.1]);
        assert_eq!([0.5, 12.4, 0.0, 2.25].map(short), ["0.5", "12", "0", "2.25"]);
    }
}
