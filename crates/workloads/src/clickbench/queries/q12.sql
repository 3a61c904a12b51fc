SELECT mobile_brand, mobile_model, count(DISTINCT visitor_id) AS visitors
FROM hits
WHERE mobile_model <> ''
GROUP BY mobile_brand, mobile_model
ORDER BY visitors DESC, mobile_brand, mobile_model
LIMIT 10
