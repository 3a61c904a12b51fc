SELECT min(c1.name) AS home, min(c2.name) AS abroad, count(*) AS releases
FROM artist a, city ci, country c1, album al, release r, country c2, album_info li, info_type lt
WHERE a.city_id = ci.id
    AND ci.country_id = c1.id
    AND al.artist_id = a.id
    AND r.album_id = al.id
    AND r.country_id = c2.id
    AND li.album_id = al.id
    AND li.info_type_id = lt.id
    AND lt.name = 'language'
    AND li.info = c2.language
    AND li.info <> c1.language
    AND c1.continent <> c2.continent
