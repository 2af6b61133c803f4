// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// Files that are embedded in the program: the web page, the client module, the demo world. The list
// is generated at build time (cmake/purview_embed.cmake).
#pragma once

#include <string_view>

namespace purview::app {

struct Asset {
    std::string_view name;  ///< such as "page.mjs"
    std::string_view content_type;
    std::string_view bytes;
};

/// All assets; `count` receives their number.
const Asset* assets(unsigned& count);
/// Returns the content of the asset, or an empty view if there is none with this name.
std::string_view asset(std::string_view name);

}  // namespace purview::app
