//! The installation as a whole, for its admins.

use windlass_api::{
    DatabaseKind, ErrorCode, HostFigures, Instance, InstanceUsers, InstanceUsersQuery, Pagination, Queue, Whole,
};
use windlass_edge::Listen;
use windlass_store::{Kind, instance, jobs, users};

use super::params::Params;
use super::respond::{Answer, success};
use super::table::{Table, user};
use crate::auth::Admin;
use crate::records;

const PAGE_SIZE: i64 = 25;
pub const FOR_ADMINS: &str = "For admins of the installation, with a login.";

pub fn routes(table: Table) -> Table {
    use ErrorCode::Forbidden;
    table
        .get("/instance", get, user::<Instance>("Get instance").note(FOR_ADMINS).errors(&[Forbidden]))
        .get(
            "/instance/figures",
            get_figures,
            user::<HostFigures>("Get figures of the machine").note(FOR_ADMINS).errors(&[Forbidden]),
        )
        .get(
            "/instance/users",
            list_users,
            user::<InstanceUsers>("List users").query::<InstanceUsersQuery>().note(FOR_ADMINS).errors(&[Forbidden]),
        )
}

pub async fn get(admin: Admin) -> Answer {
    let app = &admin.app;
    let mut conn = app.db.read().await?;
    let (users, organizations, applications) = instance::counts(&mut conn).await?;
    let (waiting, running) = jobs::counts(&mut conn).await?;
    drop(conn);
    let disk = app.disks.space(&app.config.data_dir).await;
    let instance = Instance {
        version: env!("CARGO_PKG_VERSION").into(),
        started_at: app.started_at,
        database: match app.db.kind() {
            Kind::Sqlite => DatabaseKind::Sqlite,
            Kind::Postgres => DatabaseKind::Postgres,
        },
        public_url: app.config.public_url(),
        edge_addresses: edge_addresses(&app.config.edge_listen()),
        disk: disk.map(records::figures::disk_space),
        queue: Queue { waiting, running },
        users,
        organizations,
        applications,
        settings: app.config.settings.iter().map(records::instance_setting).collect(),
    };
    success("Instance", instance)
}

/// Of the machine of the server that is asked.
pub async fn get_figures(admin: Admin) -> Answer {
    let app = &admin.app;
    let engine = match app.engine_health.folder() {
        Some(folder) => app.disks.space(&folder).await,
        None => None,
    };
    let data_folder = app.disks.space(&app.config.data_dir).await;
    success("Figures of the machine", records::figures::machine(app, data_folder, engine))
}

fn edge_addresses(listen: &Listen) -> Vec<String> {
    listen.all().map(|(scheme, address)| format!("{scheme}://{address}")).collect()
}

pub async fn list_users(admin: Admin, Params(query): Params<InstanceUsersQuery>) -> Answer {
    let page = query.page.map_or(1, Whole::get);
    let page_size = query.page_size.map_or(PAGE_SIZE, Whole::get);
    let search = query.search.as_deref().map_or("", |search| search);
    let mut conn = admin.app.db.read().await?;
    let (found, total) = users::page(&mut conn, search, (page - 1) * page_size, page_size).await?;
    let users = found.into_iter().map(records::instance_user).collect();
    success("Users", InstanceUsers { users, pagination: Pagination::new(page, page_size, total) })
}
