// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Comparison of addresses by host.
#pragma once

#include "purview/connection.hpp"

namespace purview {

/// Returns whether the address is IPv4, in mapped form: ::ffff:a.b.c.d.
bool is_ipv4(const Address& address) noexcept;
/// Returns whether limits per host count both addresses as one host: the same IPv4 address, or IPv6
/// addresses of one /64 network, which usually belongs to one host. Ports and carriers are ignored.
bool is_same_host(const Address& left, const Address& right) noexcept;

}  // namespace purview
