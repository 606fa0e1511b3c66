// The descriptors 0, 1 and 2.
#pragma once

namespace tangram {

// Where one of them is closed, the next file or socket would get its number, and what is printed would end up
// in it. They are given to /dev/null instead, opened so that reading or writing there is still an error. Call
// it first of all in main(), before any thread.
void occupy_standard_files();

}  // namespace tangram
