// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Purview authors
//
// The schema that hello_server and hello_client share.
#pragma once

#include <purview/schema.hpp>

struct Body {
    purview::Vec3 at;
};

struct Hello {
    Hello() { schema.set_position(body.id); }
    purview::Schema schema;
    purview::Component<Body> body =
        schema.component<Body>("body").quantized({"x", "y"}, &Body::at, {0, 1000, 0.01});
    purview::KindId walker = schema.kind("walker", {body.id});
};
