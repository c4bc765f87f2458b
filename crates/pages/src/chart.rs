//! Charts as SVG: bars, stacked by series. Numbers beside the bars are HTML, so that they keep their
//! size at any width.

use crate::{Html, escape};

/// Width of one bar with its gap, in units of the drawing.
const STEP: usize = 10;
const BAR: usize = 8;
const HEIGHT: i64 = 1000;
/// Maximum colours; further series share the last.
const COLORS: usize = 8;

/// A bar chart over days or other steps.
#[derive(Debug, Clone)]
pub struct BarChart<'a> {
    pub title: &'a str,
    pub labels: &'a [String],
    /// The stacked series, with one value per step.
    pub series: &'a [Series],
    pub show: fn(i64) -> String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Series {
    pub name: String,
    /// One value per step.
    pub values: Vec<i64>,
}

impl BarChart<'_> {
    /// The chart with its title, axes and legend.
    pub fn full(&self) -> Html {
        let top = nice(self.highest());
        let (title, show) = (escape(self.title), self.show);
        let legend: String = if self.series.len() > 1 {
            let entry = |(index, series): (usize, &Series)| {
                let color = index.min(COLORS - 1);
                format!("<li><span class=\"key s{color}\"></span>{}</li>", escape(&series.name))
            };
            let entries: String = self.series.iter().enumerate().map(entry).collect();
            format!("<ul class=\"legend\">{entries}</ul>")
        } else {
            String::new()
        };
        let ends = [self.labels.first(), self.labels.last()];
        let ends = ends.map(|label| label.map(|label| escape(label)).unwrap_or_default());
        Html(format!(
            "<figure class=\"chart\"><figcaption>{title}<output class=\"muted\"></output></figcaption>\
             <div class=\"plot\"><div class=\"ticks\" aria-hidden=\"true\"><span>{}</span>\
             <span>{}</span><span>0</span></div>{}</div>\
             <div class=\"ends\" aria-hidden=\"true\"><span>{}</span><span>{}</span></div>{legend}\
             </figure>",
            show(top),
            show(top / 2),
            self.drawing(top),
            ends[0],
            ends[1],
        ))
    }

    fn total(&self, step: usize) -> i64 {
        self.series.iter().filter_map(|series| series.values.get(step)).sum()
    }

    fn highest(&self) -> i64 {
        (0..self.labels.len()).map(|step| self.total(step)).max().unwrap_or_default()
    }

    fn drawing(&self, top: i64) -> String {
        let width = self.labels.len().max(1) * STEP;
        let mut out = format!(
            "<svg viewBox=\"0 0 {width} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
             aria-label=\"{}\">",
            escape(self.title)
        );
        for (step, label) in self.labels.iter().enumerate() {
            let (left, total) = (step * STEP, self.total(step));
            let hint = format!("{}: {}", escape(label), escape(&(self.show)(total)));
            out.push_str(&format!(
                "<g class=\"bar\"><title>{hint}</title><rect class=\"reach\" x=\"{left}\" y=\"0\" \
                 width=\"{STEP}\" height=\"{HEIGHT}\"/>"
            ));
            let mut below = 0;
            for (index, series) in self.series.iter().enumerate() {
                let value = series.values.get(step).copied().unwrap_or_default();
                let height = scaled(value, top);
                if height > 0 {
                    below += height;
                    let (color, at) = (index.min(COLORS - 1), left + (STEP - BAR) / 2);
                    out.push_str(&format!(
                        "<rect class=\"s{color}\" x=\"{at}\" y=\"{}\" width=\"{BAR}\" \
                         height=\"{height}\"/>",
                        HEIGHT - below
                    ));
                }
            }
            out.push_str("</g>");
        }
        out + "</svg>"
    }
}

/// The height of a value; small values stay visible.
fn scaled(value: i64, top: i64) -> i64 {
    if value <= 0 || top <= 0 {
        return 0;
    }
    let height = i128::from(value) * i128::from(HEIGHT) / i128::from(top);
    i64::try_from(height).unwrap_or(HEIGHT).clamp(8, HEIGHT)
}

/// The next round number with a round half.
fn nice(number: i64) -> i64 {
    let mut power: i64 = 1;
    loop {
        for factor in [1, 2, 4, 6, 8] {
            let step = power.saturating_mul(factor);
            if step >= number || step == i64::MAX {
                return step.max(2);
            }
        }
        power = power.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests;
