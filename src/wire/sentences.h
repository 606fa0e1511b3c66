// Sentences that are made where no language is known: errors deep inside, and what the journal keeps of an
// attempt that ended. They are made in English; here is what they are in the other language. Thread-safe:
// pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "wire/language.h"

namespace tangram::wire {

// Every sentence that is known, with places for names and numbers.
std::span<const Text> sentences();
std::span<const Text> system_sentences();  // of the C library

// The sentence in the language. Of one that is made of several, joined by ": " or "; ", the parts that are
// known. What is not known comes back as it is.
std::string translated(std::string_view sentence, Language language);

// Message, hint and causes in the language. A message that is not known is put behind the general sentence of
// its reason, so that its names and numbers are not lost.
Error localised(Error error, Language language);

}  // namespace tangram::wire
