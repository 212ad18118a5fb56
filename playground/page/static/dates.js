// Times, in the zone of the person one is, by the clock of the world.

import { me, store } from "./store.js";

const formats = new Map();

function format(options) {
  const timeZone = me()?.zone ?? "UTC";
  const key = JSON.stringify([timeZone, options]);
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat("en-US", { timeZone, ...options }));
  return formats.get(key);
}

/** The world's present. */
export function now() {
  return new Date(Date.now() + store.offset * 1000);
}

export function momentOf(ts) {
  return new Date(Number(ts) * 1000);
}

export function timeOf(date) {
  return format({ hour: "numeric", minute: "2-digit" }).format(date);
}

export function fullTime(date) {
  return format({ dateStyle: "full", timeStyle: "long" }).format(date);
}

/** A key that is the same all day. */
export function dayOf(date) {
  return format({ year: "numeric", month: "2-digit", day: "2-digit" }).format(date);
}

/** Today, Yesterday, or the day in words. */
export function dayName(date) {
  return relative(date) ?? format({ weekday: "long", month: "long", day: "numeric" }).format(date);
}

function relative(date) {
  const day = 86_400_000;
  const days = [[0, "Today"], [-day, "Yesterday"], [day, "Tomorrow"]];
  return days.find(([away]) => dayOf(new Date(now().getTime() + away)) === dayOf(date))?.[1];
}

function ordinal(number) {
  const tens = number % 100;
  const ending = tens > 10 && tens < 14 ? "th" : { 1: "st", 2: "nd", 3: "rd" }[number % 10] ?? "th";
  return `${number}${ending}`;
}

function parts(date, options) {
  return Object.fromEntries(format(options).formatToParts(date).map((each) => [each.type, each.value]));
}

const FORMS = {
  date_num: (date) => {
    const { year, month, day } = parts(date, { year: "numeric", month: "2-digit", day: "2-digit" });
    return `${year}-${month}-${day}`;
  },
  date: (date) => long(date, {}),
  date_short: (date) => format({ month: "short", day: "numeric", year: "numeric" }).format(date),
  date_long: (date) => long(date, { weekday: "long" }),
  time: timeOf,
  time_secs: (date) => format({ hour: "numeric", minute: "2-digit", second: "2-digit" }).format(date),
  ago,
};

function long(date, options) {
  const found = parts(date, { ...options, month: "long", day: "numeric", year: "numeric" });
  const day = `${found.month} ${ordinal(Number(found.day))}, ${found.year}`;
  return found.weekday ? `${found.weekday}, ${day}` : day;
}

function ago(date) {
  const seconds = Math.round((date.getTime() - now().getTime()) / 1000);
  const units = [["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const [unit, size] = units.find(([, each]) => Math.abs(seconds) >= each) ?? units[3];
  return new Intl.RelativeTimeFormat("en", { numeric: "auto" })
    .format(Math.round(seconds / size), unit);
}

/** A date as `<!date^1700000000^{date_short_pretty} {time}>` asks for it. */
export function written(seconds, form) {
  const date = new Date(Number(seconds) * 1000);
  return form.replace(/\{(\w+?)(_pretty)?\}/g, (whole, name, pretty) => {
    if (!FORMS[name]) return whole;
    // In the middle of a sentence Slack writes a small letter, and so at its beginning a big one.
    return (pretty && relative(date)) || FORMS[name](date);
  });
}
