//! The columns of `hits`, and how their values come about.

use types::DataType;

use super::hit::{Hit, scrambled, url};
use super::words::{
    ACTIONS, CHARSETS, COLORS, COUNTRIES, CURRENCIES, LANGUAGES, MARKS, MINORS, MODELS, NETWORKS,
};

const SMALL: DataType = DataType::SmallInt;
const INT: DataType = DataType::Integer;
const BIG: DataType = DataType::BigInt;
const TEXT: DataType = DataType::Text;
const TIME: DataType = DataType::TIMESTAMP;

const fn char(n: u32) -> DataType {
    DataType::Char(n)
}

/// Where the value of a column comes from.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// A number that the hit knows.
    Number(fn(&Hit) -> i64),
    /// A text that the hit knows.
    Text(fn(&Hit) -> String),
    /// Always empty.
    Empty,
    /// 1 in so many of a hundred rows, else 0.
    Share(u64),
    /// Any of a range.
    Between(i64, i64),
    /// One of so many values, the same for all hits of a visitor.
    Visitor(u64),
    /// One of so many values, the same for all hits of a page.
    Page(u64),
    /// In so many of a hundred rows one of so many values from 1 on, else 0.
    Rare(u64, u64),
    /// In so many of a hundred rows one of these words, else empty.
    RareWord(u64, &'static [&'static str]),
    /// The same, the same for all hits of a visitor.
    VisitorWord(u64, &'static [&'static str]),
}

use Rule::{Between, Empty, Number, Page, Rare, RareWord, Share, Text, Visitor, VisitorWord};

/// Microseconds of a time in seconds.
const MICROS: i64 = 1_000_000;

/// Which search site a visitor came from, from 1; 0 for none.
fn engine(hit: &Hit) -> i64 {
    match hit.from {
        super::hit::From::Search(_, at) => at as i64 * 3 + 2,
        _ => 0,
    }
}

/// -1 inside of a site, 0 nowhere, 2 from a search, else what kind of site.
fn source(hit: &Hit) -> i64 {
    use super::hit::From::{Elsewhere, Nowhere, Page, Search};
    match hit.from {
        Nowhere => 0,
        Page(_) => -1,
        Search(..) => 2,
        Elsewhere(page) => 3 + (page % 6) as i64,
    }
}

/// The address of a visitor.
fn address(hit: &Hit) -> i64 {
    i64::from((scrambled(hit.visitor / 2) >> 32) as i32)
}

/// Times of a page's parts in milliseconds; some browsers do not tell.
fn milliseconds(hit: &Hit, nth: u64, most: u64) -> i64 {
    let mut draw = hit.draw(150 + nth);
    if draw.percent(35) { 0 } else { draw.ranked(most) as i64 }
}

/// Names, types and rules, in the table's order.
pub(super) const COLUMNS: [(&str, DataType, Rule); 104] = [
    ("hit_id", BIG, Number(|hit| scrambled(hit.number))),
    ("java_enabled", SMALL, Share(68)),
    ("title", TEXT, Text(Hit::title)),
    ("good_event", SMALL, Number(|_| 1)),
    ("event_time", TIME, Number(|hit| hit.time * MICROS)),
    ("event_date", DataType::Date, Number(|hit| hit.time.div_euclid(86_400))),
    ("site_id", INT, Number(Hit::site_id)),
    ("client_ip", INT, Number(address)),
    ("region_id", INT, Visitor(9000)),
    ("visitor_id", BIG, Number(Hit::visitor_id)),
    ("site_class", SMALL, Number(|hit| (hit.site % 3) as i64 - 1)),
    ("system", SMALL, Visitor(90)),
    ("browser", SMALL, Visitor(80)),
    ("url", TEXT, Text(|hit| url(hit.page))),
    ("referer", TEXT, Text(Hit::referer)),
    ("is_refresh", SMALL, Share(13)),
    ("referer_category", SMALL, Page(30)),
    ("referer_region", INT, Page(1200)),
    ("url_category", INT, Page(60)),
    ("url_region", INT, Page(1500)),
    ("screen_width", SMALL, Number(|hit| 320 + 64 * hit.visitor_draw(20).ranked(40) as i64)),
    ("screen_height", SMALL, Number(|hit| 240 + 60 * hit.visitor_draw(21).ranked(30) as i64)),
    ("screen_depth", SMALL, Number(|hit| 8 * hit.visitor_draw(22).between(2, 4))),
    ("plugin_major", SMALL, Visitor(12)),
    ("plugin_minor", SMALL, Visitor(8)),
    ("plugin_build", TEXT, VisitorWord(3, &MINORS)),
    ("runtime_major", SMALL, Visitor(5)),
    ("runtime_minor", SMALL, Visitor(4)),
    ("browser_major", SMALL, Visitor(60)),
    ("browser_minor", DataType::Varchar(Some(4)), VisitorWord(97, &MINORS)),
    ("cookies_on", SMALL, Share(98)),
    ("scripts_on", SMALL, Share(99)),
    ("is_mobile", SMALL, Number(|hit| hit.visitor_draw(33).percent(7).into())),
    ("mobile_brand", SMALL, Number(|hit| mobile(hit).map_or(0, |model| model as i64 / 4 + 1))),
    ("mobile_model", TEXT, Text(|hit| mobile(hit).map_or("", |model| MODELS[model]).to_owned())),
    ("parameters", TEXT, Empty),
    ("network", INT, Visitor(3500)),
    ("source_id", SMALL, Number(source)),
    ("search_engine_id", SMALL, Number(engine)),
    ("search_phrase", TEXT, Text(Hit::phrase)),
    ("ad_engine_id", SMALL, Rare(1, 50)),
    ("is_artificial", SMALL, Share(4)),
    ("window_width", SMALL, Number(|hit| 300 + hit.visitor_draw(41).ranked(1600) as i64)),
    ("window_height", SMALL, Number(|hit| 200 + hit.visitor_draw(42).ranked(1000) as i64)),
    ("client_zone", SMALL, Number(|hit| 60 * (hit.visitor_draw(43).ranked(24) as i64 - 11))),
    ("client_time", TIME, Number(|hit| (hit.time + hit.draw(44).between(-90, 90)) * MICROS)),
    ("viewer_1", SMALL, Visitor(6)),
    ("viewer_2", SMALL, Visitor(3)),
    ("viewer_3", INT, Visitor(60_000)),
    ("viewer_4", SMALL, Number(|_| 0)),
    ("charset", TEXT, VisitorWord(88, &CHARSETS)),
    ("code_version", INT, Number(|hit| 1400 + hit.site as i64 % 300)),
    ("is_link", SMALL, Share(3)),
    ("is_download", SMALL, Share(1)),
    ("is_not_bounce", SMALL, Share(20)),
    ("flow_id", BIG, Number(|hit| scrambled(hit.visitor << 8 | (hit.time / 7200) as u64 & 255))),
    (
        "original_url",
        TEXT,
        Text(|hit| if hit.draw(56).percent(12) { url(hit.page ^ 1) } else { String::new() }),
    ),
    ("frame_id", INT, Between(0, i32::MAX as i64)),
    ("is_old", SMALL, Number(|hit| i64::from(hit.site.is_multiple_of(40)))),
    ("is_event", SMALL, Number(|_| 0)),
    ("is_parameter", SMALL, Number(|_| 0)),
    ("not_counted", SMALL, Share(2)),
    ("with_hash", SMALL, Share(1)),
    ("color", char(1), RareWord(100, &COLORS)),
    (
        "local_time",
        TIME,
        Number(|hit| (hit.time + 3600 * (hit.visitor_draw(43).ranked(24) as i64 - 11)) * MICROS),
    ),
    ("age", SMALL, Visitor(6)),
    ("sex", SMALL, Visitor(3)),
    ("income", SMALL, Visitor(5)),
    ("interests", SMALL, Visitor(20_000)),
    ("robot", SMALL, Rare(5, 30)),
    ("remote_ip", INT, Number(|hit| address(hit) ^ hit.draw(70).between(0, 255))),
    ("window_name", INT, Between(-1, 300)),
    ("opener_name", INT, Rare(20, 4000)),
    ("history_length", SMALL, Rare(70, 50)),
    ("language", char(2), VisitorWord(100, &LANGUAGES)),
    ("country", char(2), VisitorWord(100, &COUNTRIES)),
    ("social_network", TEXT, RareWord(1, &NETWORKS)),
    ("social_action", TEXT, RareWord(1, &ACTIONS)),
    ("http_error", SMALL, Rare(1, 4)),
    ("send_ms", INT, Number(|hit| milliseconds(hit, 0, 500))),
    ("lookup_ms", INT, Number(|hit| milliseconds(hit, 1, 900))),
    ("connect_ms", INT, Number(|hit| milliseconds(hit, 2, 2000))),
    ("response_start_ms", INT, Number(|hit| milliseconds(hit, 3, 9000))),
    ("response_end_ms", INT, Number(|hit| milliseconds(hit, 4, 15_000))),
    ("fetch_ms", INT, Number(|hit| milliseconds(hit, 5, 30_000))),
    ("social_page", TEXT, Empty),
    ("price", BIG, Rare(2, 1_000_000)),
    (
        "order_code",
        TEXT,
        Text(|hit| {
            if hit.draw(87).percent(2) {
                format!("A-{:08}", scrambled(hit.number) as u64 % 100_000_000)
            } else {
                String::new()
            }
        }),
    ),
    ("currency", char(3), RareWord(2, &CURRENCIES)),
    ("currency_id", SMALL, Rare(2, 4)),
    ("offer_service", TEXT, RareWord(3, &MARKS)),
    ("offer_campaign", TEXT, RareWord(2, &MARKS)),
    ("offer_banner", TEXT, RareWord(1, &MARKS)),
    ("offer_source", TEXT, Empty),
    ("mark_source", TEXT, RareWord(4, &MARKS)),
    ("mark_medium", TEXT, RareWord(4, &MARKS)),
    ("mark_campaign", TEXT, RareWord(3, &MARKS)),
    ("mark_content", TEXT, RareWord(2, &MARKS)),
    ("mark_term", TEXT, Text(|hit| if hit.searched() { hit.phrase() } else { String::new() })),
    ("from_tag", TEXT, RareWord(2, &MARKS)),
    ("has_ad_click", SMALL, Share(1)),
    (
        "referer_hash",
        BIG,
        Number(|hit| match hit.from {
            super::hit::From::Nowhere => 0,
            super::hit::From::Page(page) | super::hit::From::Elsewhere(page) => scrambled(page),
            super::hit::From::Search(phrase, at) => scrambled(phrase << 3 | at as u64 | 1 << 63),
        }),
    ),
    ("url_hash", BIG, Number(|hit| scrambled(hit.page))),
    ("click_id", INT, Rare(1, i32::MAX as u64 - 1)),
];

/// The model of a visitor's device, if it is a mobile one.
fn mobile(hit: &Hit) -> Option<usize> {
    let is_mobile = hit.visitor_draw(33).percent(7);
    is_mobile.then(|| hit.visitor_draw(34).ranked(MODELS.len() as u64) as usize)
}
