//! Visitors' requests over time.

use windlass_api::{ApplicationTraffic, Can, Timestamp, Traffic, TrafficQuery, Whole};
use windlass_store::traffic::{self as rows, Slot};

use super::params::RawParams;
use super::respond::{Answer, success};
use super::table::{Table, member_who};
use crate::auth::Ctx;
use crate::traffic::MINUTE_MICROS;

const SLOTS: usize = 60;

pub fn routes(table: Table) -> Table {
    table.get("/deploy/traffic", get, member_who::<Traffic>("Get traffic", Can::DeployRead).query::<TrafficQuery>())
}

pub async fn get(ctx: Ctx, params: RawParams) -> Answer {
    let authority = ctx.organization(None).await?;
    let query: TrafficQuery = params.parse()?;
    if let Some(id) = query.id {
        ctx.application(id).await?;
    }
    // 60 slots of as many minutes as there are hours.
    let minutes = query.hours.map_or(1, Whole::get);
    let now = ctx.app.now().micros() / MINUTE_MICROS;
    let from = now / minutes * minutes - minutes * (SLOTS as i64 - 1);
    let mut conn = ctx.app.db.read().await?;
    let slots = rows::slots(&mut conn, authority.organization_id(), query.id, from, minutes).await?;
    let traffic = Traffic {
        from: Timestamp::from_micros(from * MINUTE_MICROS),
        slot_seconds: minutes * 60,
        slots: SLOTS as i64,
        applications: by_application(&slots),
    };
    success("Traffic", traffic)
}

fn by_application(slots: &[Slot]) -> Vec<ApplicationTraffic> {
    slots.chunk_by(|one, next| one.application_id == next.application_id).map(of_one).collect()
}

fn of_one(slots: &[Slot]) -> ApplicationTraffic {
    let line = |value: fn(&Slot) -> i64| {
        let mut line = vec![0; SLOTS];
        for slot in slots {
            let place = usize::try_from(slot.slot).ok().and_then(|at| line.get_mut(at));
            place.into_iter().for_each(|place| *place = value(slot));
        }
        line
    };
    ApplicationTraffic {
        application_id: slots.first().map(|slot| slot.application_id).unwrap_or_default(),
        requests: line(|slot| slot.sum.requests),
        errors: line(|slot| slot.sum.errors),
        answer_ms: line(|slot| slot.sum.answer_us / slot.sum.answers.max(1) / 1_000),
    }
}
