SELECT min(al.title) AS soundtrack, min(a.name) AS composer, count(*) AS credits
FROM album al, kind k, genre g, track t, credit cr, role ro, artist a, artist_info ai,
    info_type it, city ci
WHERE al.kind_id = k.id
    AND al.genre_id = g.id
    AND t.album_id = al.id
    AND cr.track_id = t.id
    AND cr.role_id = ro.id
    AND cr.artist_id = a.id
    AND ai.artist_id = a.id
    AND ai.info_type_id = it.id
    AND a.city_id = ci.id
    AND k.name = 'soundtrack'
    AND g.family IN ('film', 'classical')
    AND ro.name = 'composer'
    AND it.name = 'birth place'
    AND ai.info = ci.name
    AND cr.note IS NULL
