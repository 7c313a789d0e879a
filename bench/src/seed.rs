//! A busy installation: 1,000 organizations of 50 members, one of each logged in.

use sha2::{Digest, Sha256};
use uuid::Uuid;
use windlass_api::{Role, Timestamp, UserType};
use windlass_store::memberships::{self, Membership};
use windlass_store::organizations::{self, Organization};
use windlass_store::sessions::{self, Session};
use windlass_store::user_settings::{self, UserSettings};
use windlass_store::users::{self, User};
use windlass_store::{Db, Tx, instance};

pub const ORGANIZATIONS: u128 = 1_000;
pub const MEMBERS: u128 = 50;

/// The organization with the long audit log.
pub const FIRST_ORGANIZATION: Uuid = id(1, 0);

/// Far in the future, so that no session is renewed or expires while it is measured.
const NOW: Timestamp = Timestamp::from_micros(4_000_000_000_000_000);

/// The tokens of the first member of each organization.
pub async fn fill(db: &Db) -> Vec<String> {
    let mut tokens = Vec::new();
    for number in 0..ORGANIZATIONS {
        let mut tx = db.begin().await.expect("a transaction");
        if number == 0 {
            instance::claim_first_admin(&mut tx).await.expect("the first admin");
        }
        let organization_id = add_organization(&mut tx, number).await;
        for member in 0..MEMBERS {
            let role = if member == 0 { Role::Owner } else { Role::Member };
            let user_id = add_member(&mut tx, number * MEMBERS + member, organization_id, role).await;
            if member == 0 {
                tokens.push(add_session(&mut tx, number, user_id).await);
            }
        }
        tx.commit().await.expect("a commit");
    }
    tokens
}

/// Ids as UUIDv7 would be: in order of time, so that rows of one organization lie together.
const fn id(kind: u128, number: u128) -> Uuid {
    Uuid::from_u128((kind << 120) | 0x7000_8000_0000_0000_0000 | number)
}

async fn add_organization(tx: &mut Tx, number: u128) -> Uuid {
    let organization = Organization {
        id: id(1, number),
        name: format!("Organization {number}"),
        description: "One of many".into(),
        host_access: number == 0,
        created_at: NOW,
        updated_at: NOW,
    };
    organizations::insert(tx, &organization).await.expect("an organization");
    organization.id
}

async fn add_member(tx: &mut Tx, number: u128, organization_id: Uuid, role: Role) -> Uuid {
    let user = User {
        id: id(2, number),
        username: format!("user-{number}"),
        email: format!("user-{number}@example.org"),
        avatar: String::new(),
        kind: UserType::User,
        is_verified: true,
        two_factor_enabled: false,
        created_at: NOW,
        updated_at: NOW,
    };
    users::insert(tx, &user, "no password").await.expect("a user");
    let membership =
        Membership { id: id(3, number), organization_id, user_id: user.id, role, created_at: NOW, updated_at: NOW };
    memberships::insert(tx, &membership).await.expect("a membership");
    users::set_default_organization(tx, user.id, organization_id).await.expect("a default organization");
    let settings = UserSettings {
        id: id(4, number),
        user_id: user.id,
        auto_update: true,
        theme: "light".into(),
        font_family: "outfit".into(),
        font_size: 16,
        language: "en".into(),
        created_at: NOW,
        updated_at: NOW,
    };
    user_settings::insert(tx, &settings).await.expect("settings");
    user.id
}

async fn add_session(tx: &mut Tx, number: u128, user_id: Uuid) -> String {
    let token = format!("bench-token-{number}");
    let session = Session {
        id: id(5, number),
        user_id,
        ip_address: String::new(),
        user_agent: String::new(),
        last_used_at: NOW,
        expires_at: NOW,
        created_at: NOW,
    };
    let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    sessions::insert(tx, &session, &hash).await.expect("a session");
    token
}
