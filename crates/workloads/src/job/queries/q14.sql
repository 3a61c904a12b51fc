SELECT min(aa.alias) AS alias, min(a.name) AS name, count(*) AS credits
FROM artist_alias aa, artist a, credit cr, role ro, track t, album al, release r, country c,
    format f
WHERE aa.artist_id = a.id
    AND cr.artist_id = a.id
    AND cr.role_id = ro.id
    AND cr.track_id = t.id
    AND t.album_id = al.id
    AND r.album_id = al.id
    AND r.country_id = c.id
    AND r.format_id = f.id
    AND aa.alias LIKE '%Berg%'
    AND ro.name IN ('producer', 'engineer')
    AND c.continent = 'North America'
    AND f.name = 'compact disc'
    AND r.note LIKE '%re%'
