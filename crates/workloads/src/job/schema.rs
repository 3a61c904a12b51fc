//! The 21 tables: names, columns, nullable columns, keys.

use types::DataType;

const ID: DataType = DataType::Integer;
const INTEGER: DataType = DataType::Integer;
const TEXT: DataType = DataType::Text;

/// Definition of a table.
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) columns: &'static [(&'static str, DataType)],
    pub(super) nullable: &'static [usize],
    pub(super) key: &'static [usize],
}

const fn dictionary(name: &'static str) -> Shape {
    Shape { name, columns: &[("id", ID), ("name", TEXT)], nullable: &[], key: &[0] }
}

pub(super) const KIND: Shape = dictionary("kind");
pub(super) const ROLE: Shape = dictionary("role");
pub(super) const INFO_TYPE: Shape = dictionary("info_type");
pub(super) const FORMAT: Shape = dictionary("format");
pub(super) const LINK_KIND: Shape = dictionary("link_kind");

pub(super) const COUNTRY: Shape = Shape {
    name: "country",
    columns: &[
        ("id", ID),
        ("name", TEXT),
        ("code", DataType::Char(2)),
        ("continent", TEXT),
        ("language", TEXT),
    ],
    nullable: &[],
    key: &[0],
};

pub(super) const CITY: Shape = Shape {
    name: "city",
    columns: &[("id", ID), ("name", TEXT), ("country_id", ID), ("population", INTEGER)],
    nullable: &[],
    key: &[0],
};

pub(super) const GENRE: Shape = Shape {
    name: "genre",
    columns: &[("id", ID), ("name", TEXT), ("family", TEXT)],
    nullable: &[],
    key: &[0],
};

pub(super) const TAG: Shape = Shape {
    name: "tag",
    columns: &[("id", ID), ("tag", TEXT), ("origin", DataType::Char(1))],
    nullable: &[],
    key: &[0],
};

pub(super) const LABEL: Shape = Shape {
    name: "label",
    columns: &[
        ("id", ID),
        ("name", TEXT),
        ("city_id", ID),
        ("parent_id", ID),
        ("founded", INTEGER),
    ],
    nullable: &[3],
    key: &[0],
};

pub(super) const ARTIST: Shape = Shape {
    name: "artist",
    columns: &[
        ("id", ID),
        ("name", TEXT),
        ("sort_name", TEXT),
        ("kind_id", ID),
        ("city_id", ID),
        ("begin_year", INTEGER),
        ("gender", DataType::Char(1)),
    ],
    nullable: &[6],
    key: &[0],
};

pub(super) const ARTIST_ALIAS: Shape = Shape {
    name: "artist_alias",
    columns: &[("artist_id", ID), ("alias", TEXT)],
    nullable: &[],
    key: &[],
};

pub(super) const ARTIST_INFO: Shape = Shape {
    name: "artist_info",
    columns: &[("artist_id", ID), ("info_type_id", ID), ("info", TEXT), ("note", TEXT)],
    nullable: &[3],
    key: &[],
};

pub(super) const MEMBERSHIP: Shape = Shape {
    name: "membership",
    columns: &[
        ("band_id", ID),
        ("artist_id", ID),
        ("role_id", ID),
        ("first_year", INTEGER),
        ("last_year", INTEGER),
    ],
    nullable: &[4],
    key: &[],
};

pub(super) const ALBUM: Shape = Shape {
    name: "album",
    columns: &[
        ("id", ID),
        ("title", TEXT),
        ("artist_id", ID),
        ("kind_id", ID),
        ("genre_id", ID),
        ("label_id", ID),
        ("year", INTEGER),
    ],
    nullable: &[5],
    key: &[0],
};

pub(super) const ALBUM_INFO: Shape = Shape {
    name: "album_info",
    columns: &[("album_id", ID), ("info_type_id", ID), ("info", TEXT), ("note", TEXT)],
    nullable: &[3],
    key: &[],
};

pub(super) const ALBUM_TAG: Shape = Shape {
    name: "album_tag",
    columns: &[("album_id", ID), ("tag_id", ID)],
    nullable: &[],
    key: &[],
};

pub(super) const ALBUM_LINK: Shape = Shape {
    name: "album_link",
    columns: &[("album_id", ID), ("linked_id", ID), ("link_kind_id", ID)],
    nullable: &[],
    key: &[],
};

pub(super) const RELEASE: Shape = Shape {
    name: "release",
    columns: &[
        ("album_id", ID),
        ("label_id", ID),
        ("country_id", ID),
        ("format_id", ID),
        ("released", DataType::Date),
        ("note", TEXT),
    ],
    nullable: &[1, 5],
    key: &[],
};

pub(super) const TRACK: Shape = Shape {
    name: "track",
    columns: &[
        ("id", ID),
        ("album_id", ID),
        ("position", INTEGER),
        ("title", TEXT),
        ("seconds", INTEGER),
    ],
    nullable: &[],
    key: &[0],
};

pub(super) const CREDIT: Shape = Shape {
    name: "credit",
    columns: &[("track_id", ID), ("artist_id", ID), ("role_id", ID), ("note", TEXT)],
    nullable: &[3],
    key: &[],
};
