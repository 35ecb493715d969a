-- The share of every item with its interval. Two items of a survey differ for sure only if their intervals do not meet,
-- so the rank is given as a range: how many items are surely above, and how many may be.
with estimates as (
    select study, survey, title, part, item, share, share_low, share_high, reports, released
    from {{ source('localdp', 'latest_estimates') }}
    where share is not null
)

select
    one.study,
    one.survey,
    one.title,
    one.part,
    one.item,
    one.share,
    one.share_low,
    one.share_high,
    one.share_high - one.share_low as width,
    1 + sum(case when other.share_low > one.share_high then 1 else 0 end) as best_rank,
    1 + sum(case when other.share_high > one.share_low and other.item <> one.item then 1 else 0 end) as worst_rank,
    one.reports,
    one.released
from estimates as one
join estimates as other on other.study = one.study and other.part = one.part
group by
    one.study, one.survey, one.title, one.part, one.item, one.share, one.share_low, one.share_high, one.reports,
    one.released
