//! The jobs by which certificates are ordered. What they do is in `orders`.

use windlass_store::certificate_orders::{self, CertificateOrder};
use windlass_store::jobs;

use crate::service::queue;
use crate::service::work::Work;

/// False when a job of it waits or is worked on.
pub async fn queue_job(work: &mut Work<'_>, order: &CertificateOrder) -> windlass_store::Result<bool> {
    if jobs::has_key(work, &queue::certificate_order_key(order.id)).await? {
        return Ok(false);
    }
    let job = queue::certificate_order(order.organization_id, work.app.new_id(), order.id);
    certificate_orders::set_job(work, order.id, job.id).await?;
    work.enqueue(&job).await?;
    Ok(true)
}
