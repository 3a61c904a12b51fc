SELECT visitor_id, extract(minute FROM event_time) AS minute, search_phrase, count(*) AS views
FROM hits
GROUP BY visitor_id, minute, search_phrase
ORDER BY views DESC, visitor_id, minute, search_phrase
LIMIT 10
