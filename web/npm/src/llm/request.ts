import { shown, WeftError } from "../error.js";
import { grammarOf } from "./schema.js";
import type { ChatRequest, CompletionRequest, Content } from "./index.js";
import type { Request } from "./runner.js";

/** What OpenAI's API has and a model here does not do: an error is better than an answer to something else. */
const unknown = ["n", "best_of", "logprobs", "top_logprobs", "logit_bias", "tools", "functions", "audio"] as const;
const numbers = ["temperature", "top_p", "top_k", "min_p", "seed", "frequency_penalty", "presence_penalty", "repeat_penalty"] as const;

function refuse(text: string): never {
  throw new WeftError("invalid_argument", text);
}

function textOf(content: Content): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) refuse(`The \`content\` of a message is a text or a list of parts; ${shown(content)} was given.`);
  const other = content.find((part) => part?.type !== "text");
  if (other) throw new WeftError("unsupported", `A message has a part of the type "${other.type}"; texts can be read, and nothing else.`);
  return content.map(({ text }) => text).join("");
}

/** The texts of an argument that is one or several. */
export function texts(name: string, value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (!Array.isArray(value) || value.some((one) => typeof one !== "string")) refuse(`\`${name}\` is a text or a list of texts; ${shown(value)} was given.`);
  return value as string[];
}

/** A request as the program takes it, and the texts that end its answer. What is null counts as not given, as in OpenAI's API. */
export function checked(request: ChatRequest | CompletionRequest): { options: Request; ends: readonly string[] } {
  const { signal: _signal, model: _model, stop, response_format: format, max_tokens, max_completion_tokens: most = max_tokens, ...given } =
    Object.fromEntries(Object.entries(request).filter(([, value]) => value !== null)) as Partial<ChatRequest & CompletionRequest>;
  for (const name of unknown) {
    const value = (given as Record<string, unknown>)[name];
    if (value !== undefined && value !== false && !(value === 1 && (name === "n" || name === "best_of"))) {
      throw new WeftError("unsupported", `A request has "${name}", which models here do not know.`);
    }
  }
  for (const name of numbers) {
    if (given[name] !== undefined && typeof given[name] !== "number") refuse(`\`${name}\` is a number; ${shown(given[name])} was given.`);
  }
  if (most !== undefined && !(Number.isInteger(most) && most >= 0)) refuse(`\`max_completion_tokens\` is a whole number from 0; ${shown(most)} was given.`);
  const options: Request = { ...given, max_tokens: most } as Request;
  if ("prompt" in given) {
    if (typeof given.prompt !== "string") refuse(`\`prompt\` is a text; ${shown(given.prompt)} was given.`);
  } else {
    const { messages } = given;
    if (messages === undefined) refuse("A request needs `messages` or a `prompt`.");
    if (!Array.isArray(messages) || messages.length === 0) refuse(`\`messages\` is a list of at least one message; ${Array.isArray(messages) ? "an empty one" : shown(messages)} was given.`);
    options.messages = messages.map((message) => {
      if (typeof message?.role !== "string") refuse(`A message has a \`role\` and a \`content\`; ${shown(message)} was given.`);
      return { role: message.role, content: textOf(message.content) };
    });
  }
  if (format && format.type !== "text") {
    if (options.grammar !== undefined) refuse("An answer can follow a grammar or a response_format, not both.");
    if (format.type !== "json_object" && format.type !== "json_schema") refuse(`\`response_format\` has the type ${shown((format as { type: unknown }).type)}; it can be "text", "json_object" or "json_schema".`);
    if (format.type === "json_schema" && !format.json_schema?.schema) refuse("A `response_format` of the type \"json_schema\" needs `json_schema: { schema: … }`.");
    options.grammar = grammarOf(format.type === "json_object" ? { type: "object" } : format.json_schema.schema);
  }
  return { options, ends: stop === undefined ? [] : texts("stop", stop) };
}
