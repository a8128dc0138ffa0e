//! Functions on the prefixes of IP networks (`internal/lang/funcs/cidr.go`, and go-cidr, which it uses).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::super::value::{Outcome, Type, Value, failure, unknown};
use super::function::Function;
use super::function::Parameter::{Number, Text};

pub(super) const FUNCTIONS: &[Function] = &[
    Function("cidrhost", &[Text, Number], None, |arguments, _| host(arguments)),
    Function("cidrnetmask", &[Text], None, |arguments, _| netmask(&arguments[0])),
    Function("cidrsubnet", &[Text, Number, Number], None, |arguments, _| subnet(arguments)),
    Function("cidrsubnets", &[Text], Some(Number), |arguments, _| subnets(arguments)),
    Function("cidrcontains", &[Text, Text], None, |arguments, _| contains(arguments)),
];

/// A prefix, such as `10.0.0.0/8`.
struct Network {
    /// The first address.
    base: u128,
    /// How many bits all addresses share.
    length: u32,
    /// How many bits an address has.
    bits: u32,
}

impl Network {
    /// Reads a prefix. Go reads some that are not read here.
    fn parse(text: &Value) -> Outcome<Self> {
        let text = text.as_string()?;
        let Some((address, length)) = text.split_once('/') else { return unknown("the text is no prefix") };
        let (address, bits) = address_of(address)?;
        let is_plain = length == "0" || !length.starts_with(['0', '+']);
        match length.parse() {
            Ok(length) if length <= bits && is_plain => {
                Ok(Self { base: address & !host_mask(bits - length), length, bits })
            }
            _ => unknown("the length of the prefix is not read"),
        }
    }

    /// The last number that an address can have behind the prefix.
    fn last_host(&self) -> u128 {
        host_mask(self.bits - self.length)
    }
}

/// The number of an address, and how many bits it has.
fn address_of(text: &str) -> Outcome<(u128, u32)> {
    match text.parse() {
        Ok(IpAddr::V4(address)) => Ok((u32::from(address).into(), 32)),
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_none() => Ok((address.into(), 128)),
        _ => unknown("the address is not read"),
    }
}

/// A number of this many bits, all set.
fn host_mask(bits: u32) -> u128 {
    1_u128.checked_shl(bits).map_or(u128::MAX, |above| above - 1)
}

/// The text of an address.
fn shown(address: u128, bits: u32) -> Outcome<String> {
    if let (32, Ok(address)) = (bits, u32::try_from(address)) {
        return Ok(Ipv4Addr::from(address).to_string());
    }
    let address = Ipv6Addr::from(address);
    match address.to_ipv4_mapped() {
        None => Ok(address.to_string()),
        Some(_) => unknown("an IPv4 address in IPv6 is not written"),
    }
}

/// An address of the network by its number; a negative one counts from the end.
fn host(arguments: &[Value]) -> Outcome {
    let (network, number) = (Network::parse(&arguments[0])?, arguments[1].as_integer()?);
    let last = network.last_host();
    let distance = u128::from(if number < 0 { (number + 1).unsigned_abs() } else { number.unsigned_abs() });
    if distance > last {
        return failure("the prefix has fewer addresses");
    }
    let host = if number < 0 { last - distance } else { distance };
    Ok(Value::string(shown(network.base | host, network.bits)?))
}

fn netmask(prefix: &Value) -> Outcome {
    let network = Network::parse(prefix)?;
    if network.bits != 32 {
        return unknown("only networks of IPv4 have a mask");
    }
    Ok(Value::string(shown(host_mask(32) & !network.last_host(), 32)?))
}

fn subnet(arguments: &[Value]) -> Outcome {
    let network = Network::parse(&arguments[0])?;
    let (Ok(more @ 0..=62), Ok(number)) =
        (u32::try_from(arguments[1].as_integer()?), u128::try_from(arguments[2].as_integer()?))
    else {
        return unknown("this number of a network is not computed");
    };
    let length = network.length + more;
    if length > network.bits || number > host_mask(more) {
        return failure("the prefix has fewer networks");
    }
    let base = network.base | number.checked_shl(network.bits - length).unwrap_or(0);
    Ok(Value::string(format!("{}/{length}", shown(base, network.bits)?)))
}

/// Networks one after the other, each aligned to its size.
fn subnets(arguments: &[Value]) -> Outcome {
    let network = Network::parse(&arguments[0])?;
    if network.base == 0 && arguments.len() > 1 {
        return unknown("networks at the first address of all are not computed");
    }
    let end = network.base | network.last_host();
    let (mut next, mut found) = (Some(network.base), Vec::new());
    for more in &arguments[1..] {
        let Ok(more @ 1..=32) = u32::try_from(more.as_integer()?) else {
            return failure("a prefix is extended by 1 to 32 bits");
        };
        let length = network.length + more;
        if length > network.bits {
            return failure("the prefix would be too long");
        }
        let mask = host_mask(network.bits - length);
        let start = next.and_then(|next| next.checked_add(mask)).map(|start| start & !mask);
        let Some(start) = start.filter(|start| *start <= end) else {
            return failure("the prefix has no room for the network");
        };
        found.push(Value::string(format!("{}/{length}", shown(start, network.bits)?)));
        next = (start | mask).checked_add(1);
    }
    Value::list(Type::String, found)
}

/// Whether a network holds an address or another network.
fn contains(arguments: &[Value]) -> Outcome {
    let network = Network::parse(&arguments[0])?;
    let text = arguments[1].as_string()?;
    let (first, last, bits) = if text.contains('/') {
        let other = Network::parse(&arguments[1])?;
        (other.base, other.base | other.last_host(), other.bits)
    } else {
        let (address, bits) = address_of(&text)?;
        (address, address, bits)
    };
    if bits != network.bits {
        return unknown("IPv4 and IPv6 are not compared");
    }
    let all = network.base..=network.base | network.last_host();
    Ok(Value::Bool(all.contains(&first) && all.contains(&last)))
}
