//! stub
use sql::algebra::Plan;
use crate::cardinality::Estimator;
use crate::context::Context;
use crate::planner::PlanOptions;
/// stub
pub(crate) fn order_all(_c: &mut Context<'_>, _e: &mut Estimator, _p: &mut Plan, _o: &PlanOptions) {}
