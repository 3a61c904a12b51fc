SELECT lb.name AS label, count(DISTINCT a.id) AS artists, min(al.year) AS since
FROM label lb, city ci, country c, album al, artist a, kind k, genre g
WHERE al.label_id = lb.id
    AND lb.city_id = ci.id
    AND ci.country_id = c.id
    AND al.artist_id = a.id
    AND a.kind_id = k.id
    AND al.genre_id = g.id
    AND c.code = 'JP'
    AND k.name = 'person'
    AND (g.name LIKE 'modern%' OR g.family = 'electronic')
    AND lb.name LIKE '%Records'
GROUP BY lb.name
ORDER BY artists DESC, label
LIMIT 20
