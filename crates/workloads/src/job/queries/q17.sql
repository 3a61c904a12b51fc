SELECT min(p.name) AS producer, count(DISTINCT b.id) AS bands
FROM credit pr, role pro, artist p, track t, album al, artist b, kind bk, city pc, city bc,
    membership m
WHERE pr.role_id = pro.id
    AND pr.artist_id = p.id
    AND pr.track_id = t.id
    AND t.album_id = al.id
    AND al.artist_id = b.id
    AND b.kind_id = bk.id
    AND p.city_id = pc.id
    AND b.city_id = bc.id
    AND pc.country_id = bc.country_id
    AND m.artist_id = p.id
    AND m.band_id <> b.id
    AND pro.name = 'producer'
    AND bk.name = 'band'
    AND bc.name LIKE '%Stein%'
