//! `cargo xtask bench`: runs the measuring program of one area, or of all.

use crate::failure::Failure;
use crate::process;
use crate::setup::{self, Occasion};
use crate::workspace::Workspace;

/// What is shipped is what is measured.
const PROFILE: &str = "dist";

/// Something that is measured, by bench targets that print their own tables.
struct Area {
    name: &'static str,
    /// Package and target of each program.
    programs: &'static [(&'static str, &'static str)],
    /// Package, kind and name of the programs that they start.
    starts: &'static [(&'static str, &'static str, &'static str)],
}

const AREAS: &[Area] = &[
    Area {
        name: "metrics",
        programs: &[("usage-metrics", "metrics"), ("agent", "files")],
        starts: &[],
    },
    Area {
        name: "mcp",
        programs: &[("mcp-client", "calls"), ("mcp-client", "registry")],
        starts: &[("mcp-client", "--example", "rmcp_server")],
    },
    Area {
        name: "gateway",
        programs: &[("gateway", "gateway")],
        starts: &[("agent", "--bin", "agent")],
    },
    Area {
        name: "services",
        programs: &[("gateway", "services")],
        starts: &[("agent", "--bin", "agent")],
    },
    Area { name: "agent", programs: &[("agent", "tasks")], starts: &[] },
    Area { name: "local", programs: &[("local-model", "local")], starts: &[] },
];

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), Failure> {
    let (areas, extra) = choose(arguments)?;
    setup::run(workspace, Occasion::Bench)?;
    for (package, kind, name) in areas.iter().flat_map(|area| area.starts) {
        // `cargo bench` builds only the benches.
        let arguments = ["build", "--profile", PROFILE, "-p", package, kind, name];
        process::run(workspace.cargo().args(arguments))?;
    }
    for (package, target) in areas.iter().flat_map(|area| area.programs) {
        let mut command = workspace.cargo();
        command.args(["bench", "--profile", PROFILE, "-p", package, "--bench", target]);
        if !extra.is_empty() {
            command.arg("--").args(extra);
        }
        // Tells the program that the Python validator is there to be compared with.
        if setup::has_python_validator() {
            command.env("BENCH_PYTHON", "1");
        }
        process::run(&mut command)?;
    }
    Ok(())
}

/// The areas that the first argument names, and what is passed on to their programs.
fn choose(arguments: &[String]) -> Result<(&'static [Area], &[String]), Failure> {
    match arguments.split_first() {
        Some((name, extra)) if !name.starts_with('-') => {
            let Some(index) = AREAS.iter().position(|area| area.name == name) else {
                let names: Vec<&str> = AREAS.iter().map(|area| area.name).collect();
                return Err(Failure::usage(format!("there is no bench area `{name}`"))
                    .with_hint(format!("the areas are: {}", names.join(", "))));
            };
            Ok((&AREAS[index..=index], extra))
        }
        _ => Ok((AREAS, arguments)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_chosen_by_name_and_the_rest_is_passed_on() {
        let arguments = ["metrics".to_owned(), "--quick".to_owned()];
        let (areas, extra) = choose(&arguments).unwrap();
        assert_eq!(areas.len(), 1);
        assert_eq!(areas[0].name, "metrics");
        assert_eq!(extra, ["--quick"]);
    }

    #[test]
    fn without_a_name_all_areas_are_measured() {
        let arguments = ["--quick".to_owned()];
        let (areas, extra) = choose(&arguments).unwrap();
        assert_eq!(areas.len(), AREAS.len());
        assert_eq!(extra, ["--quick"]);
    }

    #[test]
    fn an_unknown_area_is_answered_with_the_list() {
        let text = choose(&["everything".to_owned()]).err().unwrap().to_string();
        assert!(
            text.contains("`everything`") && text.contains("metrics, mcp, gateway, services"),
            "{text}"
        );
    }
}
