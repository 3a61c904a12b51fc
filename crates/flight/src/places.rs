//! Parts of a table of this database: conditions on the places of its rows (`ctid`).

/// Rows that are read at a time: four blocks, which are in memory until they are sent.
pub(crate) const PIECE_ROWS: u64 = 1 << 18;

/// Some neighbouring blocks.
pub(crate) struct Piece {
    /// The first block's id.
    pub(crate) from: u64,
    pub(crate) rows: u64,
}

/// Blocks as pieces of `rows` at least, but for the last one.
fn pieces_of(blocks: &[Piece], rows: u64) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for block in blocks {
        match pieces.last_mut() {
            Some(last) if last.rows < rows => last.rows += block.rows,
            _ => pieces.push(Piece { from: block.from, rows: block.rows }),
        }
    }
    pieces
}

/// The conditions on places that make parts of a table with these blocks, which ascend: each row
/// meets one condition of one part. There are as many parts as wanted, or fewer.
pub(crate) fn conditions(blocks: &[Piece], parts: usize) -> Vec<Vec<String>> {
    let all: u64 = blocks.iter().map(|block| block.rows).sum();
    let pieces = pieces_of(blocks, PIECE_ROWS.min(all.div_ceil(parts as u64)).max(1));
    let bounds: Vec<u64> = pieces.iter().skip(1).map(|piece| piece.from).collect();
    let count = bounds.len() + 1;
    let condition = |at: usize| {
        let from = at.checked_sub(1).and_then(|at| bounds.get(at));
        let from = from.map(|from| format!(" AND ctid >= '({from},0)'"));
        let to = bounds.get(at).map(|to| format!(" AND ctid < '({to},0)'"));
        from.unwrap_or_default() + &to.unwrap_or_default()
    };
    let parts = parts.min(count);
    let of_part = |part| (part * count / parts..(part + 1) * count / parts).map(condition);
    (0..parts).map(|part| of_part(part).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(rows: &[u64]) -> Vec<Piece> {
        let block = |(at, &rows): (usize, &u64)| Piece { from: 3 * at as u64 + 1, rows };
        rows.iter().enumerate().map(block).collect()
    }

    #[test]
    fn conditions_meet_at_their_bounds() {
        let parts = conditions(&blocks(&[10, 10, 10, 10]), 2);
        let expected = [vec![" AND ctid < '(7,0)'"], vec![" AND ctid >= '(7,0)'"]];
        assert_eq!(parts, expected);
        assert_eq!(conditions(&blocks(&[]), 8), [[""]]);
        assert_eq!(conditions(&blocks(&[5]), 8), [[""]]);
        let many = conditions(&blocks(&[1 << 16; 16]), 2);
        assert_eq!(many.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(many[0][1], " AND ctid >= '(13,0)' AND ctid < '(25,0)'");
    }
}
