//! How a person becomes a user: as the first one, by an invitation, or because registration is open.

use windlass_api::{ErrorCode, LoggedIn, Register, Secret, Text, UserType, default_settings};
use windlass_edge::local_users;
use windlass_store::invitations::Invitation;
use windlass_store::user_settings::{self, UserSettings};
use windlass_store::users::{self, User};
use windlass_store::{Conn, instance, invitations};

use crate::app::App;
use crate::auth::{Origin, token};
use crate::error::{Error, Result};
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::invitations::join_by_invitation;
use crate::service::organizations::create_with_owner;
use crate::service::work::Work;
use crate::service::{sessions, tries};

/// Through a proxy on this machine the whole world may come. One that adds nothing to a request is known by its user: that of the server
/// is a person's, or root, and proxies have users of their own.
async fn may_be_a_stranger(app: &App, origin: &Origin) -> bool {
    app.config.is_reachable_from_outside()
        || origin.is_forwarded
        || !local_users::connected_from(origin.peer.address, origin.peer.local).await
}

/// By what right a person registers.
enum Right {
    FirstAdmin,
    Invited(Invitation),
    Open,
}

pub async fn register(app: &App, origin: &Origin, input: &Register) -> Result<LoggedIn> {
    tries::limit_guessing(app, origin, &input.email)?;
    // Hashing takes long; it must not hold a transaction open. What is decided here is decided again below.
    let mut conn = app.db.read().await?;
    let admin_registered = instance::admin_registered(&mut conn).await?;
    prove_right(app, &mut conn, origin, input, admin_registered).await?;
    drop(conn);
    let password_hash = app.passwords.hash(input.password.reveal()).await?;

    let mut work = app.begin().await?;
    let is_first = instance::claim_first_admin(&mut work).await?;
    let right = prove_right(app, &mut work, origin, input, !is_first).await?;
    let user = new_user(app, input, &right);
    users::insert(&mut work, &user, &password_hash).await.map_err(|error| match error {
        windlass_store::Error::Duplicate => {
            Error::new(ErrorCode::EmailTaken, "email: an account with this address exists. Log in instead.")
        }
        other => other.into(),
    })?;
    user_settings::insert(&mut work, &new_settings(app, &user)).await?;
    let actor = Actor::user(&user, origin);
    let change = Change {
        organization_id: None,
        action: Action::Create,
        resource: Resource::User,
        resource_id: user.id,
        summary: "registered",
        details: &[("email", &user.email)],
    };
    work.record(&actor, &change);
    settle(&mut work, &actor, &user, input, right).await?;
    let logged_in = sessions::open(&mut work, origin, &user, "logged in").await?;
    work.commit().await?;
    Ok(logged_in)
}

async fn prove_right(
    app: &App,
    conn: &mut Conn,
    origin: &Origin,
    input: &Register,
    admin_registered: bool,
) -> Result<Right> {
    let presented = input.token.as_ref().map(Secret::reveal);
    if !admin_registered {
        let is_proven = presented.is_some_and(|presented| app.setup_token.matches(presented));
        return match is_proven || !may_be_a_stranger(app, origin).await {
            true => Ok(Right::FirstAdmin),
            false => Err(Error::new(
                ErrorCode::SetupTokenRequired,
                "token: the first registration needs the set-up token that the server printed when it started.",
            )),
        };
    }
    match presented {
        Some(presented) => {
            let invitation = invitations::by_token(conn, &token::hash(presented), app.now()).await?;
            let invitation = invitation.ok_or_else(|| Error::not_found("invitation, or it has expired"))?;
            if invitation.email != *input.email {
                return Err(Error::new(
                    ErrorCode::InvitationForAnotherAddress,
                    "email: this invitation is for another e-mail address.",
                ));
            }
            Ok(Right::Invited(invitation))
        }
        None if app.config.open_registration => Ok(Right::Open),
        None => Err(Error::new(
            ErrorCode::RegistrationClosed,
            "Registration needs an invitation. Ask a member of an organization here for one.",
        )),
    }
}

fn new_user(app: &App, input: &Register, right: &Right) -> User {
    let now = app.now();
    let local_part = input.email.local_part();
    User {
        id: app.new_id(),
        username: input.username.clone().map_or_else(|| local_part.chars().take(50).collect(), Text::into_string),
        email: input.email.to_string(),
        avatar: String::new(),
        kind: if matches!(right, Right::FirstAdmin) { UserType::Admin } else { UserType::User },
        // Nothing was sent to the address, so nothing is known about it. The first admin vouches for themselves.
        is_verified: matches!(right, Right::FirstAdmin),
        two_factor_enabled: false,
        created_at: now,
        updated_at: now,
    }
}

fn new_settings(app: &App, user: &User) -> UserSettings {
    UserSettings {
        id: app.new_id(),
        user_id: user.id,
        auto_update: default_settings::AUTO_UPDATE,
        theme: default_settings::THEME.into(),
        font_family: default_settings::FONT_FAMILY.into(),
        font_size: default_settings::FONT_SIZE,
        language: default_settings::LANGUAGE.into(),
        created_at: user.created_at,
        updated_at: user.created_at,
    }
}

/// Gives the new user a place: the organization of the invitation, or one of their own.
async fn settle(work: &mut Work<'_>, actor: &Actor, user: &User, input: &Register, right: Right) -> Result<()> {
    let host_access = matches!(right, Right::FirstAdmin);
    if let Right::Invited(invitation) = &right {
        join_by_invitation(work, actor, user, invitation).await?;
    }
    if input.organization.is_some() || !matches!(right, Right::Invited(_)) {
        let name = match &input.organization {
            Some(name) => name.to_string(),
            None => format!("{}'s team", user.username),
        };
        let organization = create_with_owner(work, actor, user, &name, "", host_access).await?;
        if !matches!(right, Right::Invited(_)) {
            users::set_default_organization(work, user.id, organization.id).await?;
        }
    }
    Ok(())
}
