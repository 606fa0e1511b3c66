#include <array>

#include "cli/render.h"
#include "wire/view_texts.h"
#include "wire/words.h"

namespace tangram::cli {
namespace {

namespace say = wire::view;

constexpr std::array kColumns{
    Column{.key = "id", .title = say::kTokenId, .is_id = true},
    Column{.key = "name", .title = say::kName},
    Column{.key = "role", .title = say::kRole},
    Column{.key = "tenant", .title = say::kTenant},
    Column{.key = "state", .title = say::kState},
    Column{.key = "expires", .title = say::kExpires},
    Column{.key = "used", .title = say::kLastUsed},
    Column{.key = "created", .title = say::kCreatedAt, .extra = true},
    Column{.key = "created-by", .title = say::kCreatedBy, .extra = true},
    Column{.key = "rotated", .title = say::kRotatedAt, .extra = true},
    Column{.key = "revoked", .title = say::kRevokedAt, .extra = true},
    Column{.key = "old-secret-until", .title = say::kOldSecretUntil, .extra = true},
};

Tone tone_of(wire::TokenState state) {
  switch (state) {
    case wire::TokenState::kActive:
      return Tone::kGood;
    case wire::TokenState::kExpired:
      return Tone::kWarning;
    case wire::TokenState::kRevoked:
      return Tone::kDim;
  }
  return Tone::kPlain;
}

// How far from now, for people; the moment, for programs.
Table::Cell moment_cell(TimeMs at, const Canvas& canvas) {
  if (canvas.table.is_for_programs()) return time_cell(at, canvas);
  const std::int64_t left = at.value - canvas.now.value;
  const std::string age = format_age(left > 0 ? left : -left);
  return {wire::fill(left > 0 ? say::kInTime : say::kTimeAgo, canvas.language, {{"time", age}})};
}

Table::Cell expiry_cell(const wire::TokenView& token, const Canvas& canvas) {
  if (token.expires_at) return moment_cell(*token.expires_at, canvas);
  return {std::string(say::kNever.in(canvas.language))};
}

}  // namespace

std::span<const Column> token_columns() {
  return kColumns;
}

std::string render_tokens(std::span<const wire::TokenView> tokens, const Canvas& canvas) {
  if (tokens.empty() && !canvas.table.is_bare()) {
    const std::string sentence =
        wire::fill(say::kNoTokens, canvas.language,
                   {{"command", "tangram token create NAME --role tenant --tenant TENANT"}});
    return wrap_text(sentence, canvas.width, 2) + '\n';
  }
  Table table(kColumns, canvas);
  for (const wire::TokenView& token : tokens) {
    table.add_row({{printable(token.id), Tone::kBold},
                   {printable(token.name)},
                   {std::string(wire::word(token.role, canvas.language))},
                   token.tenant.empty() ? unknown_cell() : Table::Cell{printable(token.tenant)},
                   {std::string(wire::word(token.state, canvas.language)), tone_of(token.state)},
                   expiry_cell(token, canvas),
                   token.last_used_at ? moment_cell(*token.last_used_at, canvas) : unknown_cell(),
                   time_cell(token.created_at, canvas),
                   {or_dash(printable(token.created_by))},
                   time_cell(token.rotated_at, canvas),
                   time_cell(token.revoked_at, canvas),
                   time_cell(token.old_secret_until, canvas)});
    if (token.state != wire::TokenState::kActive || canvas.table.wide) continue;
    if (!token.old_secret_until || *token.old_secret_until <= canvas.now) continue;
    table.add_note(
        wire::fill(say::kOldSecret, canvas.language, {{"time", format_time(*token.old_secret_until)}}), 4,
        Tone::kDim);
  }
  return table.render();
}

std::string render_token(const wire::TokenView& token, wire::Language language) {
  const std::string title = printable(token.id) + " (" + printable(token.name) + ")";
  std::string text =
      wire::fill(say::kTokenIs, language, {{"token", title}, {"role", wire::word(token.role, language)}});
  if (!token.tenant.empty())
    text += wire::fill(say::kTokenFor, language, {{"tenant", printable(token.tenant)}});
  text += token.expires_at
              ? wire::fill(say::kTokenUntil, language, {{"time", format_time(*token.expires_at)}})
              : std::string(say::kTokenForEver.in(language));
  if (token.state == wire::TokenState::kActive) return text;
  return wire::fill(say::kBecause, language,
                    {{"sentence", text}, {"reason", wire::word(token.state, language)}});
}

}  // namespace tangram::cli
