//! One page view: site, time, visitor, page, and where the visitor came from.

use std::fmt::Write as _;

use super::words::{ENDINGS, SEARCH_SITES, SECTIONS, WORDS};
use crate::random::Draw;

/// Numbers of the generators' streams, [`Draw::new`]'s tables; those of columns follow the last.
mod stream {
    pub(super) const HIT: u64 = 1000;
    pub(super) const SITE: u64 = 1001;
    pub(super) const PAGE: u64 = 1002;
    pub(super) const PHRASE: u64 = 1003;
    /// Columns of hits, of visitors and of pages.
    pub(super) const HIT_COLUMN: u64 = 1100;
    pub(super) const VISITOR_COLUMN: u64 = 1300;
    pub(super) const PAGE_COLUMN: u64 = 1500;
}

/// Sites: a prime, so that ranks spread over numbers.
const SITES: u64 = 5003;
const SPREAD: u64 = 4127;

/// 2025-03-01 00:00, in seconds since 1970.
const BEGIN: i64 = 1_740_787_200;
/// Days of the table.
const DAYS: i64 = 31;
const DAY: i64 = 86_400;

/// The sites' rows: they follow each other.
pub(super) struct Sites {
    /// First row of each site, and the count of rows.
    starts: Vec<u64>,
}

impl Sites {
    /// Shares `rows` among the sites by their ranks.
    pub(super) fn new(rows: u64) -> Self {
        let weight = |site: u64| (1_u64 << 32) / (rank(site) + 2);
        let total: u128 = (0..SITES).map(|site| u128::from(weight(site))).sum();
        let mut sum = 0;
        let mut start = |site: u64| {
            let start = (u128::from(rows) * sum / total) as u64;
            sum += if site < SITES { u128::from(weight(site)) } else { 0 };
            start
        };
        Self { starts: (0..=SITES).map(&mut start).collect() }
    }

    /// The site of row `row`.
    fn site(&self, row: u64) -> u64 {
        self.starts.partition_point(|start| *start <= row) as u64 - 1
    }

    fn rows(&self) -> u64 {
        self.starts[SITES as usize]
    }
}

/// The place of a site by size.
fn rank(site: u64) -> u64 {
    site * SPREAD % SITES
}

/// A number with all bits in use, another one for each `number`.
pub(super) fn scrambled(number: u64) -> i64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as i64
}

/// Where a visitor came from.
#[derive(Clone, Copy)]
pub(super) enum From {
    /// An address that was typed.
    Nowhere,
    /// Another page of the same site.
    Page(u64),
    /// Another site's page.
    Elsewhere(u64),
    /// A search for a phrase, at this search site.
    Search(u64, usize),
}

/// A row before it is written.
pub(super) struct Hit {
    pub(super) number: u64,
    pub(super) site: u64,
    /// Seconds since 1970.
    pub(super) time: i64,
    pub(super) visitor: u64,
    /// Page, unique among all sites.
    pub(super) page: u64,
    pub(super) from: From,
}

/// Pages of a site have the numbers from here on.
const SITE_PAGES: u64 = 1 << 32;

impl Hit {
    /// Row `number`.
    pub(super) fn new(number: u64, sites: &Sites) -> Self {
        let site = sites.site(number);
        let (first, end) = (sites.starts[site as usize], sites.starts[site as usize + 1]);
        let mut draw = Draw::new(stream::HIT, number);
        let day = DAYS * (number - first) as i64 / (end - first) as i64;
        let visitors = sites.rows() / 6 + 1;
        let often = draw.percent(50);
        let visitor = if often { draw.ranked(visitors) } else { draw.below(visitors) };
        let pages = (end - first) / 3 + 1;
        let page = site * SITE_PAGES + draw.ranked(pages);
        let from = match draw.below(100) {
            0..19 => From::Nowhere,
            19..60 => From::Page(site * SITE_PAGES + draw.ranked(pages)),
            60..73 => {
                let phrase = draw.ranked(sites.rows() / 16 + 1);
                From::Search(phrase, draw.ranked(SEARCH_SITES.len() as u64) as usize)
            }
            _ => {
                From::Elsewhere(draw.ranked(SITES) * SPREAD % SITES * SITE_PAGES + draw.ranked(99))
            }
        };
        let time = BEGIN + day * DAY + draw.between(0, DAY - 1);
        Self { number, site, time, visitor, page, from }
    }

    /// Draws for a column of this row.
    pub(super) fn draw(&self, ordinal: u64) -> Draw {
        Draw::new(stream::HIT_COLUMN + ordinal, self.number)
    }

    /// Draws for a column that is the same in all rows of the visitor.
    pub(super) fn visitor_draw(&self, ordinal: u64) -> Draw {
        Draw::new(stream::VISITOR_COLUMN + ordinal, self.visitor)
    }

    /// Draws for a column that is the same in all rows of the page.
    pub(super) fn page_draw(&self, ordinal: u64) -> Draw {
        Draw::new(stream::PAGE_COLUMN + ordinal, self.page)
    }

    /// True when the visitor searched for something.
    pub(super) fn searched(&self) -> bool {
        matches!(self.from, From::Search(..))
    }

    /// The site's identifier.
    pub(super) fn site_id(&self) -> i64 {
        self.site as i64 * 7 + 3
    }

    /// The visitor's identifier.
    pub(super) fn visitor_id(&self) -> i64 {
        scrambled(self.visitor) & i64::MAX
    }

    /// The page before this one; empty if there is none.
    pub(super) fn referer(&self) -> String {
        match self.from {
            From::Nowhere => String::new(),
            From::Page(page) | From::Elsewhere(page) => url(page),
            From::Search(phrase, at) => {
                let terms = phrase_text(phrase).replace(' ', "+");
                format!("https://{}/results?q={terms}&page=1", SEARCH_SITES[at])
            }
        }
    }

    /// Phrase that the visitor searched for; mostly empty.
    pub(super) fn phrase(&self) -> String {
        match self.from {
            From::Search(phrase, _) => phrase_text(phrase),
            _ => String::new(),
        }
    }

    /// The page's title; two pages may share one.
    pub(super) fn title(&self) -> String {
        let mut draw = Draw::seeded(1, stream::PAGE, self.page / 2);
        if draw.percent(8) {
            return String::new();
        }
        let mut title = words(2 + draw.below(6), " ", &mut draw);
        if let Some(first) = title.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        let _ = write!(title, " {} - {}", draw.below(500), site_name(self.site));
        title
    }
}

/// `count` words with `between` between them.
fn words(count: u64, between: &str, draw: &mut Draw) -> String {
    let mut text = String::new();
    for nth in 0..count {
        if nth > 0 {
            text.push_str(between);
        }
        text.push_str(WORDS[draw.ranked(WORDS.len() as u64) as usize]);
    }
    text
}

fn phrase_text(phrase: u64) -> String {
    let mut draw = Draw::new(stream::PHRASE, phrase);
    let mut text = words(1 + draw.ranked(5), " ", &mut draw);
    if draw.percent(70) {
        let _ = write!(text, " {}", draw.below(2000));
    }
    text
}

fn site_name(site: u64) -> String {
    let mut draw = Draw::new(stream::SITE, site);
    let word = |draw: &mut Draw| WORDS[draw.below(WORDS.len() as u64) as usize];
    let (first, second) = (word(&mut draw), word(&mut draw));
    let ending = draw.pick(&ENDINGS);
    if draw.percent(40) {
        format!("{first}{second}.{ending}")
    } else {
        format!("www.{first}-{second}.{ending}")
    }
}

/// The address of a page.
pub(super) fn url(page: u64) -> String {
    let mut draw = Draw::new(stream::PAGE, page);
    let scheme = if draw.percent(35) { "https" } else { "http" };
    let mut url = format!("{scheme}://{}/", site_name(page / SITE_PAGES));
    for _ in 0..draw.below(3) {
        url.push_str(draw.pick(&SECTIONS));
        url.push('/');
    }
    match draw.below(10) {
        0 => {}
        1..7 => {
            url.push_str(&words(1 + draw.below(5), "-", &mut draw));
            let _ = write!(url, "-{}.html", draw.below(100_000));
        }
        _ => {
            url.push_str(WORDS[draw.ranked(WORDS.len() as u64) as usize]);
            let _ = write!(url, "?id={}&sort={}", draw.below(1_000_000), draw.pick(&SECTIONS));
        }
    }
    url
}
