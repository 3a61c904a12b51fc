SELECT min(al.title) AS album, min(st.info) AS studio, count(*) AS tracks
FROM track t, album al, album_info st, info_type stt, album_info bu, info_type but, genre g,
    album_tag alt, tag tg, label lb
WHERE t.album_id = al.id
    AND st.album_id = al.id
    AND st.info_type_id = stt.id
    AND bu.album_id = al.id
    AND bu.info_type_id = but.id
    AND al.genre_id = g.id
    AND alt.album_id = al.id
    AND alt.tag_id = tg.id
    AND al.label_id = lb.id
    AND stt.name = 'studio'
    AND st.info LIKE 'Saint%'
    AND but.name = 'budget'
    AND g.family IN ('pop', 'soul')
    AND tg.origin = 'e'
    AND t.title LIKE '%Love%'
    AND lb.founded < 1980
