SELECT min(a.name) AS artist, min(al.title) AS album, count(DISTINCT t.id) AS tracks
FROM country c, city ci, artist a, album al, genre g, kind k, album_info mi, info_type mt,
    release r, format f, track t, credit cr, role ro
WHERE ci.country_id = c.id
    AND a.city_id = ci.id
    AND al.artist_id = a.id
    AND al.genre_id = g.id
    AND al.kind_id = k.id
    AND mi.album_id = al.id
    AND mi.info_type_id = mt.id
    AND r.album_id = al.id
    AND r.format_id = f.id
    AND t.album_id = al.id
    AND cr.track_id = t.id
    AND cr.role_id = ro.id
    AND c.language = 'Spanish'
    AND g.family = 'latin'
    AND k.name IN ('album', 'live recording')
    AND mt.name = 'mood'
    AND mi.info = 'passionate'
    AND f.name = 'cassette'
    AND ro.name = 'singer'
