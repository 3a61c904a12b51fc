SELECT search_phrase, event_time
FROM hits
WHERE search_phrase <> ''
ORDER BY event_time DESC, search_phrase
LIMIT 10
