select 100.00 * sum(case when i_data like 'PR%' then ol_amount else 0 end)
       / (1 + sum(ol_amount)) as promo_revenue
from order_line
join item on i_id = ol_i_id
where ol_delivery_d >= timestamp '2007-01-02' and ol_delivery_d < timestamp '2030-01-02'
