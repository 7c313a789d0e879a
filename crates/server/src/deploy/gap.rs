//! Whether visitors wait while a deploy replaces what is live: what [`super::hold`] and [`super::snapshot`] will find, as far as the rows tell it
//! beforehand.

use windlass_api::{ArtifactKind, BuildPack, Configuration, DeployEffect, Gapless, VolumeOrigin};
use windlass_store::containers::{Container, Purpose, Stage};
use windlass_store::volumes::Volume;

use super::hold;
use crate::mounts::{self, Mounted};
use crate::subject::SubjectError;

/// What is known before a deploy.
pub struct Known<'a> {
    /// What the next release is asked to be.
    pub configuration: &'a Configuration,
    /// What is live, if anything is.
    pub live: ArtifactKind,
    /// Of the live release, the service that visitors of the main domain reach.
    pub main_service: Option<&'a str>,
    pub effect: DeployEffect,
    /// Whether the limits of containers change: what services have of them is part of what they are.
    pub changes_limits: bool,
    /// All that the application has.
    pub containers: &'a [Container],
    pub volumes: &'a [Volume],
}

/// The answer, and the reason where it is not yes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    pub is_gapless: Gapless,
    pub gap: String,
}

type Result<T> = std::result::Result<T, SubjectError>;

impl Outlook {
    const fn yes() -> Self {
        Self { is_gapless: Gapless::Yes, gap: String::new() }
    }

    fn no(gap: String) -> Self {
        Self { is_gapless: Gapless::No, gap }
    }

    fn depends(gap: String) -> Self {
        Self { is_gapless: Gapless::Depends, gap }
    }
}

pub fn foresee(known: &Known<'_>) -> Result<Outlook> {
    // Visitors wait only for containers that serve them.
    if !known.containers.iter().any(|row| row.purpose == Purpose::App) {
        return Ok(Outlook::yes());
    }
    let is_same_build = matches!(known.effect, DeployEffect::Nothing | DeployEffect::Containers);
    match known.configuration.build_pack {
        BuildPack::DockerCompose => with_services(known, is_same_build),
        BuildPack::Image => with_image(known),
        BuildPack::Static => Ok(Outlook::yes()),
        BuildPack::Dockerfile if known.configuration.settings.output_path.is_empty() => with_image(known),
        BuildPack::Dockerfile => Ok(Outlook::yes()),
        BuildPack::Auto if is_same_build && known.live == ArtifactKind::Site => Ok(Outlook::yes()),
        BuildPack::Auto if is_same_build => with_image(known),
        BuildPack::Auto => Ok(unless_it_is_a_site(with_image(known)?)),
    }
}

/// What is built may become a site, which takes no containers.
fn unless_it_is_a_site(image: Outlook) -> Outlook {
    match image.is_gapless {
        Gapless::No => {
            Outlook::depends(format!("If an image is built: {} If a site is built, no visitor waits.", image.gap))
        }
        Gapless::Yes | Gapless::Depends => image,
    }
}

fn with_image(known: &Known<'_>) -> Result<Outlook> {
    let pauses = hold::pauses(known.configuration);
    let volumes: Vec<&Volume> = known.volumes.iter().filter(|volume| volume.origin != VolumeOrigin::Compose).collect();
    let next: Vec<Mounted> = volumes.iter().map(|volume| Mounted::of(volume)).collect();
    for row in known.containers.iter().filter(|row| row.purpose == Purpose::App) {
        if !hold::ends_first(row, &next, pauses)? {
            continue;
        }
        let mounted = mounts::of_container(row)?;
        let own = volumes.iter().find(|volume| mounts::exclude(&[Mounted::of(volume)], &mounted));
        return Ok(Outlook::no(own.map_or_else(
            || "The containers end before pre_run_command runs, because pause is set; visitors wait meanwhile.".into(),
            |volume| {
                format!(
                    "The volume {} is not shared: the container that has it ends before the next one begins, and visitors wait meanwhile.",
                    volume.name
                )
            },
        )));
    }
    with_snapshots(known)
}

/// Containers that go on meanwhile are paused while their volume is read.
fn with_snapshots(known: &Known<'_>) -> Result<Outlook> {
    if !known.configuration.settings.snapshot_before_deploy {
        return Ok(Outlook::yes());
    }
    let is_read =
        |volume: &&Volume| volume.used_at.is_some() && volume.host_path.is_empty() && volume.before_snapshot.is_empty();
    for volume in known.volumes.iter().filter(is_read) {
        for row in known.containers.iter().filter(|row| row.purpose == Purpose::App && row.stage == Stage::Live) {
            if mounts::has_volume(row, &volume.engine_name)? {
                return Ok(Outlook::no(format!(
                    "A snapshot of the volume {} is taken first (snapshot_before_deploy), and the containers that have it are paused meanwhile.",
                    volume.name
                )));
            }
        }
    }
    Ok(Outlook::yes())
}

/// Services with data of their own stay as they are if nothing about them changes.
fn with_services(known: &Known<'_>, is_same_build: bool) -> Result<Outlook> {
    let next: Vec<Mounted> = known.volumes.iter().map(Mounted::of).collect();
    let mut own = Vec::new();
    for row in known.containers.iter().filter(|row| row.purpose == Purpose::App) {
        if hold::ends_first(row, &next, false)? {
            own.push(row);
        }
    }
    let is_of_services = known.live == ArtifactKind::Services;
    let is_main = |row: &&&Container| known.main_service == Some(row.service.as_str());
    match (own.first(), own.iter().find(is_main)) {
        (None, _) => with_snapshots(known),
        (_, Some(main)) if is_same_build => Ok(Outlook::no(format!(
            "The service {} is made anew by each deploy and has a volume that is not shared: its container ends before the next one begins, and visitors wait \
             meanwhile.",
            main.service
        ))),
        (Some(row), _) if is_same_build && is_of_services && known.changes_limits => Ok(Outlook::no(format!(
            "The limits of the service {} change, which has a volume that is not shared: its container ends before the next one begins, and visitors wait meanwhile.",
            row.service
        ))),
        (Some(row), _) if is_of_services => Ok(Outlook::depends(format!(
            "The service {} has a volume that is not shared. While nothing about it changes (its definition, its image, what it depends on) its container stays and no \
             visitor waits; else visitors wait while it ends and the next one begins. The deploy finds out.",
            row.service
        ))),
        (Some(_), _) => Ok(Outlook::depends(
            "The live containers have a volume that is not shared. If a service of the compose file has it too, visitors wait while they end. The deploy finds out."
                .into(),
        )),
    }
}
