//! The steps in their order, until one fails.

use windlass_api::{ExecutionStatus, StepStatus};
use windlass_durable::kill_point;
use windlass_extension::Action;

use super::engine;
use super::failure::{Break, Interruption, Result, StepFailure, StepResult};
use super::machine::command::Script;
use super::machine::{MARK, Machine, command, file, package, service, user};
use super::run::Run;
use super::undo::Before;
use crate::jobs::Lease;
use crate::programs::end_marked;

/// How often the engine may be lost during one execution.
const MOST_TRIES: i64 = 5;

/// Until all are done, or it is decided that the execution goes no further.
pub async fn all(run: &mut Run<'_>, lease: &mut Lease) -> Result<()> {
    if run.is_elsewhere() && run.resolved.iter().any(|step| !is_repeatable(&step.action)) {
        let words =
            format!("it was begun on another machine, {}, whose server has ended", run.execution.server_hostname);
        return go_no_further(run, ExecutionStatus::Failed, &words).await;
    }
    for index in 0..run.steps.len() {
        match run.steps[index].status {
            StepStatus::Completed | StepStatus::Skipped => continue,
            StepStatus::Failed if run.resolved[index].ignore_errors => continue,
            // The server ended before it was decided what follows.
            StepStatus::Failed | StepStatus::Cancelled => return decide_again(run, index).await,
            StepStatus::Running if !is_repeatable(&run.resolved[index].action) => return interrupted(run, index).await,
            StepStatus::Running | StepStatus::Pending => {}
        }
        if run.is_overdue() {
            let seconds = run.host.app.config.execution_seconds;
            return go_no_further(run, ExecutionStatus::Failed, &format!("it took more than {seconds} s in all")).await;
        }
        if run.held.is_cancel_requested().await? {
            return go_no_further(run, ExecutionStatus::Cancelled, "it was cancelled by request").await;
        }
        if let Some(reason) = run.resolved[index].skipped.clone() {
            run.steps[index].output = reason;
            run.steps[index].status = StepStatus::Skipped;
            run.store(index).await?;
            continue;
        }
        if !one(run, index, lease).await? {
            return Ok(());
        }
    }
    Ok(())
}

/// A step that was under way when its server ended is not gone on with.
async fn go_no_further(run: &mut Run<'_>, status: ExecutionStatus, words: &str) -> Result<()> {
    let ended = if status == ExecutionStatus::Cancelled { StepStatus::Cancelled } else { StepStatus::Failed };
    for index in 0..run.steps.len() {
        if run.steps[index].status == StepStatus::Running {
            run.end_step(index, ended, None).await?;
        }
    }
    run.decide(status, None, words).await
}

async fn decide_again(run: &mut Run<'_>, index: usize) -> Result<()> {
    let (name, exit_code) = (run.steps[index].step_name.clone(), run.steps[index].exit_code);
    match run.steps[index].status {
        StepStatus::Cancelled => {
            run.decide(ExecutionStatus::Cancelled, None, &format!("it was cancelled during the step {name}")).await
        }
        _ => run.decide(ExecutionStatus::Failed, exit_code, &format!("the step {name} failed")).await,
    }
}

/// Whether a step that was under way when its server ended can be gone on with: rows say what it has made.
fn is_repeatable(action: &Action) -> bool {
    is_of_engine(action) || matches!(action, Action::WaitSeconds(_) | Action::Skipped)
}

pub fn is_of_engine(action: &Action) -> bool {
    match action {
        Action::Skipped
        | Action::Command { .. }
        | Action::File(_)
        | Action::Service { .. }
        | Action::User(_)
        | Action::Package { .. }
        | Action::WaitSeconds(_) => false,
        Action::Pull { .. }
        | Action::Up { .. }
        | Action::UpFile { .. }
        | Action::Start { .. }
        | Action::Stop { .. }
        | Action::Remove { .. }
        | Action::Down
        | Action::Route { .. }
        | Action::Unroute { .. }
        | Action::WaitFor { .. } => true,
    }
}

/// Whether the next one may follow.
async fn one(run: &mut Run<'_>, index: usize, lease: &mut Lease) -> Result<bool> {
    let (log, writer) = run.open_log(index);
    let machine = Machine { log, step_id: run.steps[index].id, saved: run.saved(index) };
    run.steps[index].started_at.get_or_insert(run.host.app.now().micros());
    let acted = match prepared(run, index, &machine, lease).await {
        Ok(Ok(before)) => {
            let json = serde_json::to_string(&before).map_err(|error| Interruption::Later(error.to_string()))?;
            run.steps[index].undo = json;
            run.steps[index].status = StepStatus::Running;
            run.store(index).await?;
            kill_point::reached("execution-step-begun");
            limited(run, index, &machine, &before, lease).await
        }
        Ok(Err(failure)) => Ok(Err(failure)),
        Err(ended) => Err(ended),
    };
    kill_point::reached("execution-step-acted");
    match &acted {
        Ok(Err(failure)) => machine.log.note(format!("Failed: {}", failure.words)).await,
        // A process that has left the group of the step ends with it too.
        Err(_) => drop(end_marked(MARK, run.steps[index].id.to_string().as_bytes()).await),
        Ok(Ok(_)) => {}
    }
    drop(machine);
    writer.finish().await;
    let name = run.steps[index].step_name.clone();
    match acted {
        Err(Break::Lost) => Err(Interruption::Lost),
        Err(Break::Cancelled) => {
            run.end_step(index, StepStatus::Cancelled, None).await?;
            run.decide(ExecutionStatus::Cancelled, None, &format!("it was cancelled during the step {name}")).await?;
            Ok(false)
        }
        Err(Break::TimedOut) => {
            let words = format!("{name} took more than {} s", run.resolved[index].timeout.as_secs());
            end_failed(run, index, StepFailure::new(words)).await
        }
        Ok(Err(StepFailure { later: Some(Interruption::EngineLost(_)), words, .. }))
            if run.held.job.attempts + 1 >= MOST_TRIES =>
        {
            end_failed(run, index, StepFailure::new(format!("{name}: {words}"))).await
        }
        Ok(Err(StepFailure { later: Some(later), .. })) => Err(later),
        Ok(Err(failure)) => {
            let words = format!("{name}: {}", failure.words);
            end_failed(run, index, StepFailure { words, ..failure }).await
        }
        Ok(Ok(exit_code)) => {
            run.end_step(index, StepStatus::Completed, exit_code).await?;
            kill_point::reached("execution-step-stored");
            Ok(true)
        }
    }
}

/// Whether the next step may follow nevertheless.
async fn end_failed(run: &mut Run<'_>, index: usize, failure: StepFailure) -> Result<bool> {
    run.end_step(index, StepStatus::Failed, failure.exit_code).await?;
    if run.resolved[index].ignore_errors {
        run.note(format!("{}. Its errors are ignored, so the next step follows.", failure.words)).await;
        return Ok(true);
    }
    run.decide(ExecutionStatus::Failed, failure.exit_code, &failure.words).await?;
    Ok(false)
}

/// The server was stopped while this step was under way. What it left running is ended.
async fn interrupted(run: &mut Run<'_>, index: usize) -> Result<()> {
    let id = run.steps[index].id.to_string();
    end_marked(MARK, id.as_bytes()).await.map_err(|error| Interruption::Later(error.to_string()))?;
    let name = run.steps[index].step_name.clone();
    run.end_step(index, StepStatus::Failed, None).await?;
    let words = format!("the server was stopped during the step {name}; how far it came is not known");
    run.decide(ExecutionStatus::Failed, None, &words).await
}

/// How it was before, unless finding out takes too long.
async fn prepared(
    run: &Run<'_>,
    index: usize,
    machine: &Machine,
    lease: &mut Lease,
) -> std::result::Result<StepResult<Before>, Break> {
    tokio::select! {
        before = prepare(run, index, machine) => Ok(before),
        () = tokio::time::sleep(run.resolved[index].timeout) => Err(Break::TimedOut),
        ended = lease.ended() => Err(ended.into()),
    }
}

async fn prepare(run: &Run<'_>, index: usize, machine: &Machine) -> StepResult<Before> {
    if !run.resolved[index].needs_host_access().is_empty() && !run.has_host_access().await? {
        return Err(StepFailure::new("it needs host access, which the organization does not have any more"));
    }
    Ok(match &run.resolved[index].action {
        Action::Command { .. } => Before::Command,
        Action::File(action) => Before::File(file::prepare(machine, action, &run.host.app.config.data_dir).await?),
        Action::Service { name, .. } => Before::Service(service::prepare(machine, name).await?),
        Action::User(action) => Before::User(user::prepare(machine, action).await?),
        Action::Package { names, .. } => Before::Package(package::prepare(machine, names).await?),
        Action::WaitSeconds(_) | Action::WaitFor { .. } | Action::Pull { .. } | Action::Skipped => Before::Nothing,
        _ => Before::Engine,
    })
}

/// The step, unless it takes too long, is cancelled, or the job is lost. What has been started ends then.
async fn limited(
    run: &Run<'_>,
    index: usize,
    machine: &Machine,
    before: &Before,
    lease: &mut Lease,
) -> std::result::Result<StepResult<Option<i64>>, Break> {
    let action = &run.resolved[index].action;
    let acting = async {
        match is_of_engine(action) {
            true => act_on_engine(run, action, machine).await.map(|()| None),
            false => act_on_machine(action, machine, before).await,
        }
    };
    // A thread that writes files cannot be stopped, so its end is waited for.
    if matches!(action, Action::File(_)) {
        return Ok(acting.await);
    }
    tokio::select! {
        acted = acting => Ok(acted),
        () = tokio::time::sleep(run.resolved[index].timeout) => Err(Break::TimedOut),
        ended = lease.ended() => Err(ended.into()),
    }
}

async fn act_on_machine(action: &Action, machine: &Machine, before: &Before) -> StepResult<Option<i64>> {
    match (action, before) {
        (Action::Command { script, user, environment, .. }, _) => {
            let script = Script { text: script, user: user.as_deref(), environment };
            return command::act(machine, &script).await.map(Some);
        }
        (Action::File(action), _) => file::act(action).await?,
        (Action::Service { name, change }, _) => service::act(machine, name, *change).await?,
        (Action::User(action), Before::User(before)) => user::act(machine, action, before).await?,
        (Action::Package { names, state }, Before::Package(before)) => {
            package::act(machine, names, *state, before).await?;
        }
        (Action::WaitSeconds(seconds), _) => tokio::time::sleep(std::time::Duration::from_secs(*seconds)).await,
        _ => return Err(StepFailure::new("it is not known how the step was begun")),
    }
    Ok(None)
}

async fn act_on_engine(run: &Run<'_>, action: &Action, machine: &Machine) -> StepResult<()> {
    if let Action::Pull { image } = action {
        return engine::pull(run.host, run.has_host_access().await?, &machine.log, image).await;
    }
    let Some(installation) = &run.installation else {
        return Err(StepFailure::new("only an extension of the type install has services"));
    };
    // The reconciler stands back as long as the step lasts.
    let _no_other = run.host.lock_containers(installation.id).await;
    let engine = run.engine(installation, machine.log.clone()).await?;
    match action {
        Action::Up { project } => Box::pin(engine::up(&engine, project)).await,
        Action::UpFile { path } => {
            let project = run.project_of_file(path).await?;
            Box::pin(engine::up(&engine, &project)).await
        }
        Action::Start { service } => engine::start(&engine, service).await,
        Action::Stop { service } => engine::stop(&engine, service).await,
        Action::Remove { service } => engine::remove(&engine, service).await,
        Action::Down => engine::down(&engine).await,
        Action::Route { domain, service, port } => engine::route(&engine, domain, service.as_deref(), *port).await,
        Action::Unroute { domain } => engine::unroute(&engine, domain).await,
        Action::WaitFor { service, port } => engine::wait_for(&engine, service, *port).await,
        _ => Err(StepFailure::new("this step is not one of the engine's")),
    }
}
