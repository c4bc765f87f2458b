//! End-to-end tests: the real program in a temporary home, one module per behaviour.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

// `agent chat`: conversations at a terminal and in a pipe.
mod chat;
// What every command shares: help, errors, exit codes, colour, pipes.
mod command_line;
// JSON Schemas of the configuration files.
mod config_schema;
// Recording is a person's choice, and everything about it is documented.
mod consent;
// Everything the program needs, looked at in one go.
mod dashboard;
mod doctor;
mod documentation;
// No home, a full one, a wrong key, a service that is away, a proxy in the way.
mod environment;
// Files of the service, and the program itself, verified.
mod downloads;
// The member service: run, looked after, stopped.
mod gateway;
mod gateway_faults;
// Servers added, removed, switched and imported, and what stays of the configuration.
mod mcp_config;
// Servers that come by a link, links for servers, and what makes a desktop open them.
mod mcp_links;
// Commands that talk to MCP servers.
mod mcp_live;
// Signing in to servers, and out of them.
mod mcp_login;
// What a member does with the service.
mod member;
// Whole outputs of the commands.
mod outputs;
// Packages made, shown, merged and exported.
mod packages;
// Skills kept, installed, put away, loaded by models and counted.
mod skills;
// Tasks with tools, from the words of a person to the answer.
mod tasks;
// What a person types at a terminal and sees on it.
mod terminal;
// Packages of anybody, judged.
mod metrics_validation;
// The page of `agent metrics view`, in a real browser.
mod view;
// Files of models: fetched, added, listed, removed, and answering on a bare machine.
#[cfg(feature = "local-model")]
mod weights;
