//! Functions and operators on shapes that say yes or no.

use super::{BOOL, BOX, CIRCLE, LINE, PATH, POINT, POLYGON, Polygon, SEGMENT, test, test_one};
use crate::Result;
use crate::packed::PackedFunction;
use crate::packed::functions::row;
use crate::packed::geometry::{
    Circle, Line, Path, Point, Rect, Segment, is_above, is_at_least, is_at_most, is_below, is_near,
    is_zero, minus, plus, polygon,
};

fn in_circle(point: Point, circle: Circle) -> Result<bool> {
    Ok(circle.center.distance(point)? <= circle.radius)
}

fn around(polygon: &[Point]) -> Rect {
    Rect::around(polygon)
}

pub(crate) const SHAPE_TESTS: &[PackedFunction] = &[
    row("point_left", "<<", &[POINT, POINT], BOOL, |c, _| {
        test(c, |a: Point, b: Point| Ok(is_below(a.x, b.x)))
    }),
    row("point_right", ">>", &[POINT, POINT], BOOL, |c, _| {
        test(c, |a: Point, b: Point| Ok(is_above(a.x, b.x)))
    }),
    row("point_below", "<<|", &[POINT, POINT], BOOL, |c, _| {
        test(c, |a: Point, b: Point| Ok(is_below(a.y, b.y)))
    }),
    row("point_below", "<^", &[POINT, POINT], BOOL, |c, _| {
        test(c, |a: Point, b: Point| Ok(is_below(a.y, b.y)))
    }),
    row("point_above", "|>>", &[POINT, POINT], BOOL, |c, _| {
        test(c, |a: Point, b: Point| Ok(is_above(a.y, b.y)))
    }),
    row("point_above", ">^", &[POINT, POINT], BOOL, |c, _| {
        test(c, |a: Point, b: Point| Ok(is_above(a.y, b.y)))
    }),
    row("point_vert", "?|", &[POINT, POINT], BOOL, |c, _| {
        test(c, |a: Point, b: Point| Ok(is_near(a.x, b.x)))
    }),
    row("point_horiz", "?-", &[POINT, POINT], BOOL, |c, _| {
        test(c, |a: Point, b: Point| Ok(is_near(a.y, b.y)))
    }),
    row("point_eq", "~=", &[POINT, POINT], BOOL, |c, _| {
        test(c, |a: Point, b: Point| Ok(a.is_at(b)))
    }),
    row("point_ne", "<>", &[POINT, POINT], BOOL, |c, _| {
        test(c, |a: Point, b: Point| Ok(!a.is_at(b)))
    }),
    row("isvertical", "", &[POINT, POINT], BOOL, |c, _| {
        test(c, |a: Point, b: Point| Ok(is_near(a.x, b.x)))
    }),
    row("ishorizontal", "", &[POINT, POINT], BOOL, |c, _| {
        test(c, |a: Point, b: Point| Ok(is_near(a.y, b.y)))
    }),
    row("on_ps", "<@", &[POINT, SEGMENT], BOOL, |c, _| test(c, |a: Point, b: Segment| b.has(a))),
    row("on_ppath", "<@", &[POINT, PATH], BOOL, |c, _| test(c, |a: Point, b: Path| b.has(a))),
    row("on_pb", "<@", &[POINT, BOX], BOOL, |c, _| test(c, |a: Point, b: Rect| Ok(b.has(a)))),
    row("pt_contained_poly", "<@", &[POINT, POLYGON], BOOL, |c, _| {
        test(c, |a: Point, b: Polygon| polygon::has(&b, a))
    }),
    row("on_pl", "<@", &[POINT, LINE], BOOL, |c, _| test(c, |a: Point, b: Line| b.has(a))),
    row("pt_contained_circle", "<@", &[POINT, CIRCLE], BOOL, |c, _| {
        test(c, |a: Point, b: Circle| in_circle(a, b))
    }),
    row("path_contain_pt", "@>", &[PATH, POINT], BOOL, |c, _| {
        test(c, |a: Path, b: Point| a.has(b))
    }),
    row("box_contain_pt", "@>", &[BOX, POINT], BOOL, |c, _| {
        test(c, |a: Rect, b: Point| Ok(a.has(b)))
    }),
    row("poly_contain_pt", "@>", &[POLYGON, POINT], BOOL, |c, _| {
        test(c, |a: Polygon, b: Point| polygon::has(&a, b))
    }),
    row("circle_contain_pt", "@>", &[CIRCLE, POINT], BOOL, |c, _| {
        test(c, |a: Circle, b: Point| in_circle(b, a))
    }),
    row("on_sl", "<@", &[SEGMENT, LINE], BOOL, |c, _| {
        test(c, |a: Segment, b: Line| Ok(b.has(a.from)? && b.has(a.to)?))
    }),
    row("on_sb", "<@", &[SEGMENT, BOX], BOOL, |c, _| {
        test(c, |a: Segment, b: Rect| Ok(b.has(a.from) && b.has(a.to)))
    }),
    row("lseg_eq", "=", &[SEGMENT, SEGMENT], BOOL, |c, _| {
        test(c, |a: Segment, b: Segment| Ok(a.from.is_at(b.from) && a.to.is_at(b.to)))
    }),
    row("lseg_ne", "<>", &[SEGMENT, SEGMENT], BOOL, |c, _| {
        test(c, |a: Segment, b: Segment| Ok(!(a.from.is_at(b.from) && a.to.is_at(b.to))))
    }),
    row("lseg_lt", "<", &[SEGMENT, SEGMENT], BOOL, |c, _| {
        test(c, |a: Segment, b: Segment| Ok(is_below(a.length()?, b.length()?)))
    }),
    row("lseg_le", "<=", &[SEGMENT, SEGMENT], BOOL, |c, _| {
        test(c, |a: Segment, b: Segment| Ok(is_at_most(a.length()?, b.length()?)))
    }),
    row("lseg_gt", ">", &[SEGMENT, SEGMENT], BOOL, |c, _| {
        test(c, |a: Segment, b: Segment| Ok(is_above(a.length()?, b.length()?)))
    }),
    row("lseg_ge", ">=", &[SEGMENT, SEGMENT], BOOL, |c, _| {
        test(c, |a: Segment, b: Segment| Ok(is_at_least(a.length()?, b.length()?)))
    }),
    row("lseg_intersect", "?#", &[SEGMENT, SEGMENT], BOOL, |c, _| {
        test(c, |a: Segment, b: Segment| Ok(a.meets(b)?.is_some()))
    }),
    row("lseg_perp", "?-|", &[SEGMENT, SEGMENT], BOOL, |c, _| {
        test(c, |a: Segment, b: Segment| Ok(is_near(a.slope()?, b.from.cross_slope(b.to)?)))
    }),
    row("lseg_parallel", "?||", &[SEGMENT, SEGMENT], BOOL, |c, _| {
        test(c, |a: Segment, b: Segment| Ok(is_near(a.slope()?, b.slope()?)))
    }),
    row("isperp", "", &[SEGMENT, SEGMENT], BOOL, |c, _| {
        test(c, |a: Segment, b: Segment| Ok(is_near(a.slope()?, b.from.cross_slope(b.to)?)))
    }),
    row("isparallel", "", &[SEGMENT, SEGMENT], BOOL, |c, _| {
        test(c, |a: Segment, b: Segment| Ok(is_near(a.slope()?, b.slope()?)))
    }),
    row("lseg_horizontal", "?-", &[SEGMENT], BOOL, |c, _| {
        test_one(c, |a: Segment| Ok(is_near(a.from.y, a.to.y)))
    }),
    row("lseg_vertical", "?|", &[SEGMENT], BOOL, |c, _| {
        test_one(c, |a: Segment| Ok(is_near(a.from.x, a.to.x)))
    }),
    row("ishorizontal", "", &[SEGMENT], BOOL, |c, _| {
        test_one(c, |a: Segment| Ok(is_near(a.from.y, a.to.y)))
    }),
    row("isvertical", "", &[SEGMENT], BOOL, |c, _| {
        test_one(c, |a: Segment| Ok(is_near(a.from.x, a.to.x)))
    }),
    row("inter_sb", "?#", &[SEGMENT, BOX], BOOL, |c, _| {
        test(c, |a: Segment, b: Rect| Ok(b.meets(a)?.is_some()))
    }),
    row("inter_sl", "?#", &[SEGMENT, LINE], BOOL, |c, _| {
        test(c, |a: Segment, b: Line| Ok(a.meets_line(b)?.is_some()))
    }),
    row("line_eq", "=", &[LINE, LINE], BOOL, |c, _| test(c, |a: Line, b: Line| a.is_same(b))),
    row("line_intersect", "?#", &[LINE, LINE], BOOL, |c, _| {
        test(c, |a: Line, b: Line| Ok(a.meets(b)?.is_some()))
    }),
    row("line_perp", "?-|", &[LINE, LINE], BOOL, |c, _| {
        test(c, |a: Line, b: Line| a.is_perpendicular(b))
    }),
    row("line_parallel", "?||", &[LINE, LINE], BOOL, |c, _| {
        test(c, |a: Line, b: Line| Ok(a.meets(b)?.is_none()))
    }),
    row("isperp", "", &[LINE, LINE], BOOL, |c, _| {
        test(c, |a: Line, b: Line| a.is_perpendicular(b))
    }),
    row("isparallel", "", &[LINE, LINE], BOOL, |c, _| {
        test(c, |a: Line, b: Line| Ok(a.meets(b)?.is_none()))
    }),
    row("inter_lb", "?#", &[LINE, BOX], BOOL, |c, _| test(c, |a: Line, b: Rect| b.meets_line(a))),
    row("line_horizontal", "?-", &[LINE], BOOL, |c, _| test_one(c, |a: Line| Ok(is_zero(a.a)))),
    row("line_vertical", "?|", &[LINE], BOOL, |c, _| test_one(c, |a: Line| Ok(is_zero(a.b)))),
    row("ishorizontal", "", &[LINE], BOOL, |c, _| test_one(c, |a: Line| Ok(is_zero(a.a)))),
    row("isvertical", "", &[LINE], BOOL, |c, _| test_one(c, |a: Line| Ok(is_zero(a.b)))),
    row("path_n_lt", "<", &[PATH, PATH], BOOL, |c, _| {
        test(c, |a: Path, b: Path| Ok(a.points.len() < b.points.len()))
    }),
    row("path_n_le", "<=", &[PATH, PATH], BOOL, |c, _| {
        test(c, |a: Path, b: Path| Ok(a.points.len() <= b.points.len()))
    }),
    row("path_n_eq", "=", &[PATH, PATH], BOOL, |c, _| {
        test(c, |a: Path, b: Path| Ok(a.points.len() == b.points.len()))
    }),
    row("path_n_gt", ">", &[PATH, PATH], BOOL, |c, _| {
        test(c, |a: Path, b: Path| Ok(a.points.len() > b.points.len()))
    }),
    row("path_n_ge", ">=", &[PATH, PATH], BOOL, |c, _| {
        test(c, |a: Path, b: Path| Ok(a.points.len() >= b.points.len()))
    }),
    row("path_inter", "?#", &[PATH, PATH], BOOL, |c, _| test(c, |a: Path, b: Path| a.meets(&b))),
    row("isclosed", "", &[PATH], BOOL, |c, _| test_one(c, |a: Path| Ok(a.closed))),
    row("isopen", "", &[PATH], BOOL, |c, _| test_one(c, |a: Path| Ok(!a.closed))),
    row("box_overlap", "&&", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(a.overlaps(b)))
    }),
    row("box_overlap", "?#", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(a.overlaps(b)))
    }),
    row("box_overleft", "&<", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(is_at_most(a.high.x, b.high.x)))
    }),
    row("box_overbelow", "&<|", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(is_at_most(a.high.y, b.high.y)))
    }),
    row("box_overright", "&>", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(is_at_least(a.low.x, b.low.x)))
    }),
    row("box_overabove", "|&>", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(is_at_least(a.low.y, b.low.y)))
    }),
    row("box_left", "<<", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(is_below(a.high.x, b.low.x)))
    }),
    row("box_below", "<<|", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(is_below(a.high.y, b.low.y)))
    }),
    row("box_right", ">>", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(is_above(a.low.x, b.high.x)))
    }),
    row("box_above", "|>>", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(is_above(a.low.y, b.high.y)))
    }),
    row("box_below_eq", "<^", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(is_at_most(a.high.y, b.low.y)))
    }),
    row("box_above_eq", ">^", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(is_at_least(a.low.y, b.high.y)))
    }),
    row("box_contained", "<@", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(b.contains(a)))
    }),
    row("box_contain", "@>", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(a.contains(b)))
    }),
    row("box_same", "~=", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(a.high.is_at(b.high) && a.low.is_at(b.low)))
    }),
    row("box_eq", "=", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(is_near(a.area()?, b.area()?)))
    }),
    row("box_lt", "<", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(is_below(a.area()?, b.area()?)))
    }),
    row("box_le", "<=", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(is_at_most(a.area()?, b.area()?)))
    }),
    row("box_gt", ">", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(is_above(a.area()?, b.area()?)))
    }),
    row("box_ge", ">=", &[BOX, BOX], BOOL, |c, _| {
        test(c, |a: Rect, b: Rect| Ok(is_at_least(a.area()?, b.area()?)))
    }),
    row("poly_overlap", "&&", &[POLYGON, POLYGON], BOOL, |c, _| {
        test(c, |a: Polygon, b: Polygon| polygon::overlaps(&a, &b))
    }),
    row("poly_overleft", "&<", &[POLYGON, POLYGON], BOOL, |c, _| {
        test(c, |a: Polygon, b: Polygon| Ok(around(&a).high.x <= around(&b).high.x))
    }),
    row("poly_overbelow", "&<|", &[POLYGON, POLYGON], BOOL, |c, _| {
        test(c, |a: Polygon, b: Polygon| Ok(around(&a).high.y <= around(&b).high.y))
    }),
    row("poly_overright", "&>", &[POLYGON, POLYGON], BOOL, |c, _| {
        test(c, |a: Polygon, b: Polygon| Ok(around(&a).low.x >= around(&b).low.x))
    }),
    row("poly_overabove", "|&>", &[POLYGON, POLYGON], BOOL, |c, _| {
        test(c, |a: Polygon, b: Polygon| Ok(around(&a).low.y >= around(&b).low.y))
    }),
    row("poly_left", "<<", &[POLYGON, POLYGON], BOOL, |c, _| {
        test(c, |a: Polygon, b: Polygon| Ok(around(&a).high.x < around(&b).low.x))
    }),
    row("poly_below", "<<|", &[POLYGON, POLYGON], BOOL, |c, _| {
        test(c, |a: Polygon, b: Polygon| Ok(around(&a).high.y < around(&b).low.y))
    }),
    row("poly_right", ">>", &[POLYGON, POLYGON], BOOL, |c, _| {
        test(c, |a: Polygon, b: Polygon| Ok(around(&a).low.x > around(&b).high.x))
    }),
    row("poly_above", "|>>", &[POLYGON, POLYGON], BOOL, |c, _| {
        test(c, |a: Polygon, b: Polygon| Ok(around(&a).low.y > around(&b).high.y))
    }),
    row("poly_contained", "<@", &[POLYGON, POLYGON], BOOL, |c, _| {
        test(c, |a: Polygon, b: Polygon| polygon::contains(&b, &a))
    }),
    row("poly_contain", "@>", &[POLYGON, POLYGON], BOOL, |c, _| {
        test(c, |a: Polygon, b: Polygon| polygon::contains(&a, &b))
    }),
    row("poly_same", "~=", &[POLYGON, POLYGON], BOOL, |c, _| {
        test(c, |a: Polygon, b: Polygon| Ok(polygon::is_same(&a, &b)))
    }),
    row("circle_overlap", "&&", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| {
            Ok(is_at_most(a.center.distance(b.center)?, plus(a.radius, b.radius)?))
        })
    }),
    row("circle_overleft", "&<", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| {
            Ok(is_at_most(plus(a.center.x, a.radius)?, plus(b.center.x, b.radius)?))
        })
    }),
    row("circle_overbelow", "&<|", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| {
            Ok(is_at_most(plus(a.center.y, a.radius)?, plus(b.center.y, b.radius)?))
        })
    }),
    row("circle_overright", "&>", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| {
            Ok(is_at_least(minus(a.center.x, a.radius)?, minus(b.center.x, b.radius)?))
        })
    }),
    row("circle_overabove", "|&>", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| {
            Ok(is_at_least(minus(a.center.y, a.radius)?, minus(b.center.y, b.radius)?))
        })
    }),
    row("circle_left", "<<", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| {
            Ok(is_below(plus(a.center.x, a.radius)?, minus(b.center.x, b.radius)?))
        })
    }),
    row("circle_below", "<<|", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| {
            Ok(is_below(plus(a.center.y, a.radius)?, minus(b.center.y, b.radius)?))
        })
    }),
    row("circle_right", ">>", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| {
            Ok(is_above(minus(a.center.x, a.radius)?, plus(b.center.x, b.radius)?))
        })
    }),
    row("circle_above", "|>>", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| {
            Ok(is_above(minus(a.center.y, a.radius)?, plus(b.center.y, b.radius)?))
        })
    }),
    row("circle_contained", "<@", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| {
            Ok(is_at_most(a.center.distance(b.center)?, minus(b.radius, a.radius)?))
        })
    }),
    row("circle_contain", "@>", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| {
            Ok(is_at_most(a.center.distance(b.center)?, minus(a.radius, b.radius)?))
        })
    }),
    row("circle_same", "~=", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| {
            Ok((a.radius.is_nan() || is_near(a.radius, b.radius)) && a.center.is_at(b.center))
        })
    }),
    row("circle_eq", "=", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| Ok(is_near(a.area()?, b.area()?)))
    }),
    row("circle_ne", "<>", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| Ok(!is_near(a.area()?, b.area()?)))
    }),
    row("circle_lt", "<", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| Ok(is_below(a.area()?, b.area()?)))
    }),
    row("circle_le", "<=", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| Ok(is_at_most(a.area()?, b.area()?)))
    }),
    row("circle_gt", ">", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| Ok(is_above(a.area()?, b.area()?)))
    }),
    row("circle_ge", ">=", &[CIRCLE, CIRCLE], BOOL, |c, _| {
        test(c, |a: Circle, b: Circle| Ok(is_at_least(a.area()?, b.area()?)))
    }),
];
