SELECT min(p.name) AS player, min(b.name) AS band, count(*) AS credits
FROM artist b, kind bk, membership m, artist p, album al, track t, credit cr, role ro
WHERE b.kind_id = bk.id
    AND m.band_id = b.id
    AND m.artist_id = p.id
    AND al.artist_id = b.id
    AND t.album_id = al.id
    AND cr.track_id = t.id
    AND cr.artist_id = p.id
    AND cr.role_id = ro.id
    AND bk.name = 'band'
    AND ro.name = 'guitarist'
    AND p.gender = 'f'
    AND al.year BETWEEN 1990 AND 1999
