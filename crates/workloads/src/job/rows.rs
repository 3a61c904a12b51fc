//! The rows of the 21 tables.

use types::{Result, calendar};

use super::schema::{self as shape, Shape};
use super::things::{
    ALBUMS_BY_ONE, Album, Artist, CITIES, Kind, NOW, Sizes, city, country, country_of, label,
    label_city, language_of, stream, title,
};
use super::words::{
    ARTIST_FACTS, CONTINENTS, COUNTRIES, CREDIT_NOTES, FAMILIES, FORMATS, INFO_TYPES, KINDS,
    LANGUAGES, LINK_KINDS, RELEASE_NOTES, ROLES, VARIETIES,
};
use crate::load::{Rows, TableSpec, Things};
use crate::random::Draw;

/// All tables at scale factor `sf`.
pub(super) fn tables(sf: f64) -> Vec<TableSpec> {
    let sizes = Sizes::new(sf);
    let of_artist = |shape, rows, make: fn(&Artist, Sizes, &mut Rows<'_>) -> Result<()>| {
        spec(shape, sizes.artists, rows, move |i, out| make(&Artist::new(i, sizes), sizes, out))
    };
    let of_album = |shape, rows, make: fn(&Album, Sizes, &mut Rows<'_>) -> Result<()>| {
        spec(shape, sizes.albums, rows, move |i, out| make(&Album::new(i, sizes), sizes, out))
    };
    vec![
        dictionary(&shape::KIND, &KINDS),
        dictionary(&shape::ROLE, &ROLES),
        dictionary(&shape::INFO_TYPE, &INFO_TYPES),
        dictionary(&shape::FORMAT, &FORMATS),
        dictionary(&shape::LINK_KIND, &LINK_KINDS),
        spec(&shape::COUNTRY, COUNTRIES.len() as u64, 1.0, country_row),
        spec(&shape::CITY, COUNTRIES.len() as u64 * CITIES, 1.0, city_row),
        spec(&shape::GENRE, (FAMILIES.len() * VARIETIES.len()) as u64, 1.0, genre_row),
        spec(&shape::TAG, sizes.tags, 1.0, tag_row),
        spec(&shape::LABEL, sizes.labels, 1.0, label_row),
        of_artist(&shape::ARTIST, 1.0, artist_row),
        of_artist(&shape::ARTIST_ALIAS, 0.5, alias_rows),
        of_artist(&shape::ARTIST_INFO, 3.0, artist_info_rows),
        of_artist(&shape::MEMBERSHIP, 1.0, membership_rows),
        of_album(&shape::ALBUM, 1.0, album_row),
        of_album(&shape::ALBUM_INFO, 5.0, album_info_rows),
        of_album(&shape::ALBUM_TAG, 4.0, album_tag_rows),
        of_album(&shape::ALBUM_LINK, 0.2, album_link_rows),
        of_album(&shape::RELEASE, 2.0, release_rows),
        of_album(&shape::TRACK, 8.0, track_rows),
        of_album(&shape::CREDIT, 20.0, credit_rows),
    ]
}

fn spec(
    shape: &'static Shape,
    things: u64,
    rows_each: f64,
    make: impl Fn(u64, &mut Rows<'_>) -> Result<()> + Send + Sync + 'static,
) -> TableSpec {
    let things = Things { count: things, rows_each };
    TableSpec::of_things(shape.name, shape.columns, shape.key, things, make)
        .with_nulls(shape.nullable)
}

fn dictionary(shape: &'static Shape, names: &'static [&'static str]) -> TableSpec {
    spec(shape, names.len() as u64, 1.0, |i, rows| {
        rows.integer(id(i)).text(names[i as usize]).end()
    })
}

/// Ids begin at 1, numbers at 0.
fn id(number: u64) -> i64 {
    number as i64 + 1
}

fn country_row(i: u64, rows: &mut Rows<'_>) -> Result<()> {
    let (name, code, language) = COUNTRIES[i as usize];
    rows.integer(id(i)).text(name).text(code).text(CONTINENTS[i as usize]);
    rows.text(LANGUAGES[language].name).end()
}

fn city_name(city: u64) -> String {
    let mut draw = Draw::new(stream::CITY, city);
    let language = &LANGUAGES[language_of(city)];
    let name = format!("{}{}", draw.pick(&language.stems), draw.pick(&language.endings));
    match draw.below(4) {
        0 => format!("Saint {name}"),
        1 => format!("{name} {}", 1 + city % CITIES),
        _ => name,
    }
}

fn city_row(i: u64, rows: &mut Rows<'_>) -> Result<()> {
    let population = 9_000_000 / (1 + i % CITIES) / (1 + country_of(i) / 3);
    rows.integer(id(i)).print(city_name(i)).integer(id(country_of(i)));
    rows.integer(population as i64).end()
}

fn genre_row(i: u64, rows: &mut Rows<'_>) -> Result<()> {
    let (family, variety) = (i as usize / VARIETIES.len(), i as usize % VARIETIES.len());
    let family = FAMILIES[family].name;
    rows.integer(id(i)).print(format_args!("{} {family}", VARIETIES[variety])).text(family).end()
}

/// Tag `i` belongs to family `i % 12`.
fn tag_row(i: u64, rows: &mut Rows<'_>) -> Result<()> {
    let mut draw = Draw::new(stream::TAG, i);
    let family = &FAMILIES[i as usize % FAMILIES.len()];
    let word = match i as usize / FAMILIES.len() {
        nth if nth < family.moods.len() => family.moods[nth].to_owned(),
        nth => format!("{}-{nth}", draw.pick(&family.words).to_lowercase()),
    };
    rows.integer(id(i)).print(word).text(draw.pick(&["u", "u", "u", "e"])).end()
}

fn label_row(i: u64, rows: &mut Rows<'_>) -> Result<()> {
    let mut draw = Draw::seeded(1, stream::LABEL, i);
    let city = label_city(i);
    let language = &LANGUAGES[language_of(city)];
    let suffix = draw.pick(&["Records", "Records", "Music", "Recordings", "Sound"]);
    let stem = draw.pick(&language.stems);
    rows.integer(id(i));
    rows.print(format_args!("{stem}{} {suffix}", draw.pick(&language.endings)));
    rows.integer(id(city));
    // Small labels belong to larger ones of their language.
    let nth = i / LANGUAGES.len() as u64;
    if nth > 2 && draw.percent(40) {
        let parent = draw.ranked(nth) * LANGUAGES.len() as u64 + i % LANGUAGES.len() as u64;
        rows.integer(id(parent));
    } else {
        rows.null();
    }
    rows.integer(NOW - draw.ranked(100) as i64).end()
}

fn artist_row(artist: &Artist, _: Sizes, rows: &mut Rows<'_>) -> Result<()> {
    let name = artist.name(0);
    rows.integer(id(artist.number)).text(&name);
    rows.print(name.trim_start_matches("The ").to_uppercase());
    rows.integer(id(artist.kind as u64)).integer(id(artist.city)).integer(artist.begin);
    let mut draw = Draw::seeded(1, stream::ARTIST, artist.number);
    match artist.kind {
        Kind::Person if draw.percent(95) => rows.text(draw.pick(&["m", "m", "m", "f", "f"])),
        _ => rows.null(),
    };
    rows.end()
}

fn alias_rows(artist: &Artist, _: Sizes, rows: &mut Rows<'_>) -> Result<()> {
    let mut draw = Draw::new(stream::ALIAS, artist.number);
    if draw.percent(30) {
        for variant in 1..=1 + draw.ranked(4) {
            rows.integer(id(artist.number)).print(artist.name(variant)).end()?;
        }
    }
    Ok(())
}

/// Instruments in the order of the first six roles.
const INSTRUMENTS: [&str; 6] = ["voice", "guitar", "bass", "drums", "piano", "violin"];

fn artist_info_rows(artist: &Artist, _: Sizes, rows: &mut Rows<'_>) -> Result<()> {
    let mut draw = Draw::new(stream::ARTIST_INFO, artist.number);
    let person = artist.kind == Kind::Person;
    for fact in 0..ARTIST_FACTS {
        let (share, info) = match fact {
            0 => (70, city_name(artist.city)),
            1 => (40, format!("https://artists.example/{}", artist.number)),
            2 => (30, format!("{} {}", draw.pick(&FAMILIES[artist.family].words), draw.below(999))),
            3 if person => (60, draw.pick(&INSTRUMENTS).to_owned()),
            4 if person => (15, artist.name(9)),
            5 => (50, (artist.begin + if person { 20 } else { 1 }).min(NOW).to_string()),
            6 if person && artist.family == 7 => (80, "conservatory".to_owned()),
            6 if person => (10, draw.pick(&["conservatory", "self-taught"]).to_owned()),
            7 if person && artist.begin < 1950 => (60, (artist.begin + 75).min(NOW).to_string()),
            _ => (0, String::new()),
        };
        if draw.percent(share) {
            rows.integer(id(artist.number)).integer(fact as i64 + 1).text(&info);
            if draw.percent(5) {
                rows.text("(unconfirmed)")
            } else {
                rows.null()
            };
            rows.end()?;
        }
    }
    Ok(())
}

fn membership_rows(artist: &Artist, sizes: Sizes, rows: &mut Rows<'_>) -> Result<()> {
    if artist.kind != Kind::Band {
        return Ok(());
    }
    let mut draw = Draw::seeded(1, stream::MEMBER, artist.number);
    for (nth, (member, since)) in artist.members(sizes).into_iter().enumerate() {
        rows.integer(id(artist.number)).integer(id(member)).integer(1 + nth as i64 % 6);
        rows.integer(since);
        if draw.percent(40) {
            rows.integer((since + draw.ranked(20) as i64).min(NOW))
        } else {
            rows.null()
        };
        rows.end()?;
    }
    Ok(())
}

fn album_row(album: &Album, _: Sizes, rows: &mut Rows<'_>) -> Result<()> {
    let mut draw = Draw::seeded(1, stream::ALBUM, album.number);
    rows.integer(id(album.number)).print(title(album.family, &mut draw));
    rows.integer(id(album.artist.number)).integer(album.kind as i64 + 1);
    rows.integer((album.family * VARIETIES.len() + album.variety) as i64 + 1);
    match album.label {
        Some(label) => rows.integer(id(label)),
        None => rows.null(),
    };
    rows.integer(album.year).end()
}

fn album_info_rows(album: &Album, _: Sizes, rows: &mut Rows<'_>) -> Result<()> {
    let mut draw = Draw::new(stream::ALBUM_INFO, album.number);
    let fame = album.fame(&mut draw);
    for fact in ARTIST_FACTS..INFO_TYPES.len() {
        let (share, info) = match fact - ARTIST_FACTS {
            // Who sings in another language sings in English.
            0 if draw.percent(80) => (100, LANGUAGES[album.artist.language].name.to_owned()),
            0 => (100, LANGUAGES[0].name.to_owned()),
            1 => (60, format!("{}.{}", (2 + fame * 7 / 24).min(9), draw.below(10))),
            2 => (60, ((draw.below(20) + 5) << (fame / 2)).to_string()),
            3 => {
                let near = city(country_of(album.artist.city), &mut draw);
                (40, format!("{} Studio {}", city_name(near), 1 + draw.ranked(9)))
            }
            4 => (50, draw.pick(&FAMILIES[album.family].moods).to_owned()),
            5 => (fame.saturating_sub(8) * 6, (1 + draw.ranked(100)).to_string()),
            6 => (
                fame.saturating_sub(12) * 6,
                draw.pick(&["gold", "gold", "platinum", "diamond"]).to_owned(),
            ),
            _ => (8, format!("{} 000", 5 + draw.ranked(900))),
        };
        if draw.percent(share) {
            rows.integer(id(album.number)).integer(fact as i64 + 1).text(&info);
            if draw.percent(7) {
                rows.text(draw.pick(&["(estimated)", "(first week)", "(disputed)"]))
            } else {
                rows.null()
            };
            rows.end()?;
        }
    }
    Ok(())
}

fn album_tag_rows(album: &Album, sizes: Sizes, rows: &mut Rows<'_>) -> Result<()> {
    let mut draw = Draw::new(stream::ALBUM_TAG, album.number);
    let families = FAMILIES.len() as u64;
    for _ in 0..draw.below(9) {
        let own = draw.percent(80);
        let family = if own { album.family as u64 } else { draw.below(families) };
        let tag = draw.ranked(sizes.tags / families) * families + family;
        rows.integer(id(album.number)).integer(id(tag)).end()?;
    }
    Ok(())
}

fn album_link_rows(album: &Album, sizes: Sizes, rows: &mut Rows<'_>) -> Result<()> {
    let mut draw = Draw::new(stream::ALBUM_LINK, album.number);
    if !draw.percent(18) {
        return Ok(());
    }
    let first = album.number / ALBUMS_BY_ONE * ALBUMS_BY_ONE;
    let (linked, kind) = if draw.percent(70) {
        // What follows, is remastered or played live is by the same artist.
        (first + draw.below(ALBUMS_BY_ONE), draw.ranked(3))
    } else {
        (draw.ranked(sizes.albums), 3 + draw.ranked(5))
    };
    if linked != album.number && linked < sizes.albums {
        rows.integer(id(album.number)).integer(id(linked)).integer(id(kind)).end()?;
    }
    Ok(())
}

/// The carriers of a year: first and last of their list.
fn formats(year: i64) -> (i64, i64) {
    match year {
        ..1950 => (0, 0),
        1950..1970 => (1, 1),
        1970..1985 => (1, 2),
        1985..2003 => (2, 4),
        2003..2012 => (3, 5),
        _ => (5, 6),
    }
}

fn release_rows(album: &Album, sizes: Sizes, rows: &mut Rows<'_>) -> Result<()> {
    let mut draw = Draw::new(stream::RELEASE, album.number);
    for nth in 0..1 + draw.ranked(6) {
        let year = (album.year + if nth == 0 { 0 } else { draw.ranked(30) as i64 }).min(NOW);
        let own = nth == 0 || draw.percent(50);
        let home = country_of(album.artist.city);
        let place = if own { home } else { country(&mut draw) };
        let (first, last) = formats(year);
        let format = if draw.percent(4) { 7 } else { draw.between(first, last) };
        rows.integer(id(album.number));
        match album.label {
            Some(label) if own => rows.integer(id(label)),
            _ if draw.percent(50) => {
                rows.integer(id(label(COUNTRIES[place as usize].2, &mut draw, sizes)))
            }
            _ => rows.null(),
        };
        rows.integer(id(place)).integer(format + 1);
        let day = calendar::days_from_civil(year as i32, 1, 1) + draw.between(0, 364) as i32;
        rows.integer(i64::from(day));
        if nth > 0 && draw.percent(60) {
            rows.text(draw.pick(&RELEASE_NOTES))
        } else {
            rows.null()
        };
        rows.end()?;
    }
    Ok(())
}

/// Numbers of tracks of an album: its own 16, some not in use.
fn track_id(album: &Album, nth: u64) -> i64 {
    id(album.number * 16 + nth)
}

fn track_rows(album: &Album, _: Sizes, rows: &mut Rows<'_>) -> Result<()> {
    let mut draw = Draw::seeded(1, stream::TRACK, album.number);
    // Movements are longer than songs.
    let seconds = if album.family == 7 { 420 } else { 130 };
    for nth in 0..album.tracks() {
        rows.integer(track_id(album, nth)).integer(id(album.number)).integer(id(nth));
        rows.print(title(album.family, &mut draw));
        rows.integer(seconds + draw.between(0, seconds) + draw.ranked(300) as i64).end()?;
    }
    Ok(())
}

fn credit_rows(album: &Album, sizes: Sizes, rows: &mut Rows<'_>) -> Result<()> {
    let mut draw = Draw::new(stream::CREDIT, album.number);
    let artist = album.artist;
    let members = match artist.kind {
        Kind::Band => artist.members(sizes),
        _ => Vec::new(),
    };
    let producer = Artist::person(artist.language, &mut draw, sizes);
    let main = match artist.kind {
        Kind::Orchestra | Kind::Choir => 10,
        _ if album.family == 7 => 4,
        _ => 0,
    };
    for nth in 0..album.tracks() {
        let track = track_id(album, nth);
        let mut credit = |artist: u64, role: u64, draw: &mut Draw| {
            rows.integer(track).integer(id(artist)).integer(id(role));
            if draw.percent(10) {
                rows.text(draw.pick(&CREDIT_NOTES))
            } else {
                rows.null()
            };
            rows.end()
        };
        credit(artist.number, main, &mut draw)?;
        for (nth, (member, _)) in members.iter().enumerate() {
            if draw.percent(50) {
                credit(*member, nth as u64 % 6, &mut draw)?;
            }
        }
        if draw.percent(30) {
            credit(producer.number, 6 + draw.below(2), &mut draw)?;
        }
        if draw.percent(25) {
            let guest = Artist::person(artist.language, &mut draw, sizes);
            credit(guest.number, draw.below(12), &mut draw)?;
        }
        if draw.percent(15) {
            credit(Artist::famous(&mut draw, sizes).number, 8 + draw.below(2), &mut draw)?;
        }
    }
    Ok(())
}
