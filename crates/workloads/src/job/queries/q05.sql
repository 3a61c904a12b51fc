SELECT min(t.title) AS track, min(ci.name) AS city, count(*) AS tracks
FROM track t, album al, album_tag alt, tag tg, artist a, city ci, country c, artist_info ai,
    info_type it
WHERE t.album_id = al.id
    AND alt.album_id = al.id
    AND alt.tag_id = tg.id
    AND al.artist_id = a.id
    AND a.city_id = ci.id
    AND ci.country_id = c.id
    AND ai.artist_id = a.id
    AND ai.info_type_id = it.id
    AND tg.tag = 'hypnotic'
    AND c.name IN ('Germany', 'Austria', 'Switzerland')
    AND it.name = 'instrument'
    AND ai.info = 'piano'
    AND t.seconds > 240
