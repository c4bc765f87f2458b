//! Rejects browser requests of other sites, and DNS rebinding.

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Uri};
use wire::error::Code;

use crate::config::Mcp;
use crate::failure::{ApiError, ApiResult};

pub(crate) fn check(headers: &HeaderMap, public_url: &Uri, config: &Mcp) -> ApiResult<()> {
    let own = public_url.host().unwrap_or_default();
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let host_is_known = host.is_some_and(|host| {
        let host = host.host();
        is_this_machine_or_an_address(host) || is_one_of(host, own, &config.allowed_hosts)
    });
    if !host_is_known {
        let message = "unknown Host; the operator can allow it in `mcp.allowed_hosts`";
        return Err(ApiError::new(Code::OriginRefused, message));
    }
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let uri = origin.parse::<Uri>().ok().filter(|uri| uri.scheme().is_some());
    let origin_is_known = config.allowed_origins.iter().any(|known| known == origin)
        || uri.is_some_and(|uri| {
            let is_own =
                uri.scheme() == public_url.scheme() && uri.authority() == public_url.authority();
            is_own || uri.host().is_some_and(is_this_machine)
        });
    if origin_is_known {
        return Ok(());
    }
    let message = "unknown Origin; the operator can allow it in `mcp.allowed_origins`";
    Err(ApiError::new(Code::OriginRefused, message))
}

fn is_one_of(host: &str, own: &str, others: &[String]) -> bool {
    host.eq_ignore_ascii_case(own) || others.iter().any(|known| host.eq_ignore_ascii_case(known))
}

/// IP addresses are safe: only a name can be rebound.
fn is_this_machine_or_an_address(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).is_some()
}

fn is_this_machine(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || address(host).is_some_and(|it| it.is_loopback())
}

fn address(host: &str) -> Option<std::net::IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

#[cfg(test)]
mod tests;
