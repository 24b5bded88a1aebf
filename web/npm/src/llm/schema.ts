import { WeftError } from "../error.js";

/** A JSON Schema, as far as grammar() knows it. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

/** What says nothing about which texts are valid. */
const ignored = new Set(["$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"]);
/** What goes with a type. */
const known: Readonly<Record<string, readonly string[]>> = {
  object: ["properties", "required", "additionalProperties"],
  array: ["items", "prefixItems", "minItems", "maxItems"],
  string: ["minLength", "maxLength", "format"],
  number: [], integer: [], boolean: [], null: [],
};

/** Rules that any grammar may use. */
const basics: Readonly<Record<string, string>> = {
  space: '" "?',
  null: '"null"',
  boolean: '"true" | "false"',
  integer: '"-"? ("0" | [1-9] [0-9]{0,15})',
  number: 'integer ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,3})?',
  char: '[^"\\\\\\x00-\\x1F\\x7F] | "\\\\" (["\\\\/bfnrt] | "u" [0-9a-fA-F]{4})',
  string: '"\\"" char* "\\""',
  value: "object | array | string | number | boolean | null",
  object: '"{" space (string ":" space value ("," space string ":" space value)*)? "}"',
  array: '"[" space (value ("," space value)*)? "]"',
  date: '[0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | [12] [0-9] | "3" [01])',
  time: '([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,6})? ("Z" | [-+] [0-9]{2} ":" [0-9]{2})',
  uuid: '[0-9a-f]{8} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{4} "-" [0-9a-f]{12}',
};
const formats: Readonly<Record<string, string>> = { date: "date", time: "time", "date-time": 'date "T" time', uuid: "uuid" };

/** A text in the grammar. */
const literal = (text: string): string => `"${text.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n").replace(/\r/g, "\\r").replace(/\t/g, "\\t")}"`;
const json = (value: unknown): string => literal(JSON.stringify(value));
const refuse = (text: string): never => {
  throw new WeftError("invalid_argument", `The JSON schema ${text}`);
};

/** A whole number of 0 or more that a keyword names. */
function count(schema: Readonly<Record<string, unknown>>, name: string, otherwise: number): number {
  const value = schema[name] ?? otherwise;
  if (typeof value !== "number" || !(value >= 0) || (Number.isFinite(value) && !Number.isInteger(value))) return refuse(`says that ${name} is ${JSON.stringify(value)}; a whole number of 0 or more is expected.`);
  return value;
}

/** `least` to `most` of something, with a text in between. */
function several(one: string, least: number, most: number): string {
  if (most < least) return refuse(`asks for at least ${least} and at most ${most} elements.`);
  if (most === 0) return "";
  const more = `("," space ${one})`, rest = (from: number) => (Number.isFinite(most) ? `${more}{${from},${most - 1}}` : from === 0 ? `${more}*` : `${more}{${from},}`);
  return least === 0 ? `(${one} ${rest(0)})?` : `${one} ${rest(least - 1)}`;
}

class Writer {
  readonly rules = new Map<string, string>();
  readonly #root: JsonSchema;
  readonly #named = new Map<string, string>();

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  /** A basic rule with those that it uses. */
  basic(name: string): string {
    if (!this.rules.has(name)) {
      const body = basics[name]!;
      this.rules.set(name, body);
      for (const [word] of body.replace(/"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]/g, " ").matchAll(/[a-z]+/g)) this.basic(word);
    }
    return name;
  }

  /** A rule of its own. */
  #add(body: string): string {
    const name = `r${this.#named.size + this.rules.size}`;
    this.rules.set(name, body);
    return name;
  }

  /** What a schema allows, as an expression that can stand anywhere. */
  expression(schema: JsonSchema, path: string): string {
    if (schema === true) return this.basic("value");
    if (schema === false) return refuse(`allows nothing at ${path}.`);
    if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return refuse(`has ${JSON.stringify(schema)} at ${path}, which is no schema.`);
    if ("$ref" in schema) return this.#reference(schema["$ref"], path);
    if ("const" in schema) return json(schema["const"]);
    if ("enum" in schema) {
      const values = schema["enum"];
      if (!Array.isArray(values) || values.length === 0) return refuse(`has an empty enum at ${path}.`);
      return `(${values.map(json).join(" | ")})`;
    }
    for (const name of ["anyOf", "oneOf"]) {
      const all = schema[name];
      if (Array.isArray(all) && all.length > 0) return this.#add(all.map((one: JsonSchema, i) => this.expression(one, `${path}/${name}/${i}`)).join(" | "));
    }
    const type = schema["type"] ?? this.#guess(schema);
    const types = Array.isArray(type) ? (type as string[]) : type === undefined ? [] : [String(type)];
    for (const keyword of Object.keys(schema)) {
      if (keyword !== "type" && !ignored.has(keyword) && !types.some((one) => known[one]?.includes(keyword))) refuse(`uses "${keyword}" at ${path}, which is not supported${types.length ? ` for ${types.join(", ")}` : ""}.`);
    }
    if (types.length === 0) return this.basic("value");
    if (types.length === 1) return this.#typed(schema, types[0]!, path);
    return this.#add(types.map((one) => this.#typed(schema, one, path)).join(" | "));
  }

  #guess(schema: Readonly<Record<string, unknown>>): string | undefined {
    return Object.keys(known).find((type) => known[type]!.some((keyword) => keyword in schema));
  }

  #reference(reference: unknown, path: string): string {
    if (typeof reference !== "string" || !reference.startsWith("#")) return refuse(`refers to ${JSON.stringify(reference)} at ${path}; only "#/…" is known.`);
    const before = this.#named.get(reference);
    if (before) return before;
    const name = `ref${this.#named.size}`;
    this.#named.set(reference, name);  // Before its body, which may refer to itself.
    let at: unknown = this.#root;
    for (const part of reference.split("/").slice(1)) at = (at as Record<string, unknown> | undefined)?.[decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~")];
    if (at === undefined) return refuse(`refers to ${reference} at ${path}, which it does not have.`);
    this.rules.set(name, this.expression(at as JsonSchema, reference));
    return name;
  }

  #typed(schema: Readonly<Record<string, unknown>>, type: string, path: string): string {
    switch (type) {
      case "null": case "boolean": case "integer": case "number": return this.basic(type);
      case "string": return this.#string(schema);
      case "array": return this.#array(schema, path);
      case "object": return this.#object(schema, path);
      default: return refuse(`has the unknown type ${JSON.stringify(type)} at ${path}.`);
    }
  }

  #string(schema: Readonly<Record<string, unknown>>): string {
    const format = schema["format"];
    if (format !== undefined) {
      const body = formats[String(format)] ?? refuse(`asks for the format ${JSON.stringify(format)}; known are ${Object.keys(formats).join(", ")}.`);
      for (const name of ["date", "time", "uuid"]) if (body.split(" ").includes(name)) this.basic(name);
      return this.#add(`"\\"" ${body} "\\""`);
    }
    const least = count(schema, "minLength", 0), most = count(schema, "maxLength", Infinity);
    if (least === 0 && most === Infinity) return this.basic("string");
    if (most < least) refuse(`asks for texts of at least ${least} and at most ${most} characters.`);
    this.basic("char");
    return this.#add(`"\\"" char{${least},${Number.isFinite(most) ? most : ""}} "\\""`);
  }

  #array(schema: Readonly<Record<string, unknown>>, path: string): string {
    this.basic("space");
    const first = schema["prefixItems"];
    if (Array.isArray(first) && first.length > 0) {
      if (["items", "minItems", "maxItems"].some((name) => name in schema && schema[name] !== false)) refuse(`has prefixItems together with items, minItems or maxItems at ${path}, which is not supported.`);
      return this.#add(`"[" space ${first.map((one: JsonSchema, i) => this.expression(one, `${path}/prefixItems/${i}`)).join(' "," space ')} "]"`);
    }
    const item = this.expression((schema["items"] ?? true) as JsonSchema, `${path}/items`);
    return this.#add(`"[" space ${several(item, count(schema, "minItems", 0), count(schema, "maxItems", Infinity))} "]"`);
  }

  /** The properties in the order of the schema, first those that must be there. */
  #object(schema: Readonly<Record<string, unknown>>, path: string): string {
    this.basic("space");
    const properties = (schema["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>, required = (schema["required"] ?? []) as readonly string[];
    const names = Object.keys(properties), extra = schema["additionalProperties"] as JsonSchema | undefined;
    for (const name of required) if (!names.includes(name)) refuse(`requires the property "${name}" at ${path}, which it does not describe.`);
    if (names.length === 0) {
      if (extra === false) return literal("{}");
      if (extra === undefined || extra === true) return this.basic("object");
      this.basic("string");
      return this.#add(`"{" space ${several(`string ":" space ${this.expression(extra, `${path}/additionalProperties`)}`, 0, Infinity)} "}"`);
    }
    const pair = (name: string) => `${json(name)} ":" space ${this.expression(properties[name]!, `${path}/properties/${name}`)}`;
    const must = names.filter((name) => required.includes(name)).map(pair), may = names.filter((name) => !required.includes(name)).map(pair);
    const later = (from: number) => may.slice(from).map((one) => ` ("," space ${one})?`).join("");
    if (must.length > 0) return this.#add(`"{" space ${must.join(' "," space ')}${later(0)} "}"`);
    return this.#add(`"{" space (${may.map((one, i) => `${one}${later(i + 1)}`).join(" | ")})? "}"`);
  }
}

/**
 * A grammar in GBNF of the JSON texts that a schema allows. What it cannot express is an error: `pattern`, `minimum` and so on.
 * Properties come in the order of the schema, those that are required first, and no others than those it names.
 */
export function grammarOf(schema: JsonSchema): string {
  const writer = new Writer(schema);
  const root = writer.expression(schema, "#");
  return [`root ::= ${root}`, ...[...writer.rules].map(([name, body]) => `${name} ::= ${body}`)].join("\n");
}
