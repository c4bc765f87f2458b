//! Runs the image that the Containerfile builds, with its health check, and the one in the OCI archive.

use std::os::unix::fs::chown;
use std::process::{Command, Stdio};

use super::{Context, Outcome, service};
use crate::failure::{OrFail, Result};
use crate::process;

const NAME: &str = "agent-dist-check";
const USER: u32 = 65532;

pub(super) fn check(context: &Context<'_>) -> Result<Outcome> {
    // Apart from the images of this machine. Podman wants a short path.
    let storage = tempfile::tempdir().or_fail("cannot create a temporary folder")?;
    let tool = |name: &str| {
        let mut command = Command::new(name);
        for (option, folder) in [("--root", "root"), ("--runroot", "run")] {
            command.arg(option).arg(storage.path().join(folder));
        }
        command
    };
    let build = ["build", "--quiet", "--format", "docker", "-t", NAME];
    process::capture(tool("buildah").args(build).arg(&context.image))?;
    let load = ["load", "--quiet", "--input"];
    process::capture(tool("podman").args(load).arg(context.artifact("-oci.tar")?))?;
    let data = context.scratch.join("data");
    context.add_model(&data.join("models"))?;
    for path in [&data, &data.join("models")] {
        chown(path, Some(USER), Some(USER)).or_fail("cannot change the owner")?;
    }
    let loaded = format!("localhost/agent:{}", context.release.version);
    // Processes of this machine can have less than the default limits of containers.
    let limits = ["--ulimit", "nofile=4096:4096", "--ulimit", "nproc=1024:1024"];
    let mut version = tool("podman");
    version.args(["--runtime", "runc", "run", "--rm", "--network", "host"]).args(limits);
    let version = match context.expect_version(version.args([&loaded, "--version"])) {
        Ok(version) => version,
        Err(failure) => {
            let reason = format!("built and loaded, but containers do not run here: {failure}");
            return Ok(Outcome::NotRun(reason));
        }
    };
    let run = |image: &str, check_running: &dyn Fn() -> Result| {
        let mut run = tool("podman");
        run.args(["--runtime", "runc", "run", "--rm", "--name", NAME, "--network", "host"]);
        run.args(limits).arg("--volume").arg(format!("{}:/data", data.display())).arg(image);
        let answer = service::stream_from(run, &data, &context.scratch, check_running);
        let _ = tool("podman").args(["rm", "--force", NAME]).stdout(Stdio::null()).status();
        answer
    };
    // The first start stores its address in the volume, which the health check reads.
    let check = ["--runtime", "runc", "healthcheck", "run", NAME];
    let healthy = || process::capture(tool("podman").args(check)).map(drop);
    let first_answer = run(&format!("localhost/{NAME}"), &healthy)?;
    let answer = run(&loaded, &|| Ok(()))?;
    Ok(Outcome::Passed(format!(
        "buildah build, agent up as user {USER} with a model file: {first_answer}, healthy; podman load, \
         podman run: {version}, agent up: {answer}"
    )))
}
