// The pages in a real browser: the real binary is started over a store of its own, and looked at in Chromium.
//
//   node cli/tests/browser/pages.mjs LOCI MODULES SHOTS
//
// LOCI: the binary. MODULES: a folder with playwright-core and axe-core in its node_modules. SHOTS: where screenshots go.
// CHROMIUM names the browser, /usr/bin/chromium unless it is set. It ends with status 0 where all is well.
//
// What must hold on every page, at the sizes of a phone and a desk, light and dark: nothing in the console, no request to
// elsewhere, no scrolling sideways, no serious finding of axe. Start reading at `main`, at the end.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const [loci, modules, shots] = process.argv.slice(2).map((path) => resolve(path));
const require = createRequire(join(modules, "node_modules", "x.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const repository = resolve(import.meta.dirname, "../../..");

const PHONE = { width: 360, height: 740 };
const DESK = { width: 1280, height: 860 };

/** A server over the documents of this repository, with a key of an admin. */
async function serve(folder) {
  const store = join(folder, "store");
  const made = spawnSync(loci, ["ingest", "--db", store, join(repository, "docs")], { encoding: "utf8" });
  // Some files there are of kinds that are not read.
  assert.ok(made.status === 0 || made.status === 1, made.stderr);
  const listen = ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"];
  const child = spawn(loci, ["serve", "--json", "--log", "none", "--db", store, ...listen], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const told = {};
  for await (const line of createInterface(child.stdout)) {
    Object.assign(told, JSON.parse(line));
    if (told.http !== undefined) break;
  }
  return { child, key: told.key, origin: `http://${told.http}` };
}

/** A page at this size and in these colours, with everything noted that should not happen. */
async function look(browser, origin, size, colours) {
  const isPhone = size === PHONE;
  const context = await browser.newContext({
    viewport: size, colorScheme: colours, isMobile: isPhone, hasTouch: isPhone, reducedMotion: "reduce",
  });
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => {
    // A wrong key and a wrong filter are answered with a status that the browser notes.
    if (message.type() === "error" && !/status of (400|401)/.test(message.text())) wrong.push(message.text());
  });
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(origin + "/")) wrong.push(`request of ${request.url()}`);
  });
  const name = `${isPhone ? "phone" : "desk"}-${colours}`;
  /** Looks at the page as it is now. */
  const check = async (what) => {
    await page.waitForLoadState("networkidle");
    await page.screenshot({ path: join(shots, `${name}-${what}.png`) });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(wide, 0, `${name}, ${what}: scrolls sideways by ${wide}`);
    // The policy keeps scripts out that are put into the page, so that axe is run from outside of it.
    await page.evaluate(axe);
    const found = await page.evaluate(() => window.axe.run(document));
    const serious = found.violations.filter((of) => ["serious", "critical"].includes(of.impact));
    const told = serious.map((of) => `${of.id}: ${of.nodes.map((node) => node.html).join(" ")}`);
    assert.deepEqual(told, [], `${name}, ${what}`);
    found.violations.forEach((of) => console.log(`${name}, ${what}: axe, ${of.impact}: ${of.id}`));
    assert.deepEqual(wrong, [], `${name}, ${what}`);
  };
  return { page, check, close: () => context.close() };
}

/** Whether something stands within the window. */
const inView = (locator) => locator.evaluate((element) => {
  const box = element.getBoundingClientRect();
  return box.top >= 0 && box.top < window.innerHeight;
});

/** What a person does: signs in, asks, opens a passage, goes on from there. */
async function visit(browser, { origin, key }, size, colours) {
  const { page, check, close } = await look(browser, origin, size, colours);
  const isPhone = size === PHONE;

  await page.goto(`${origin}/documents`);
  assert.match(page.url(), /\/sign-in\?to=/);
  await check("sign-in");
  await page.getByLabel("Key").fill("loci_0000000000000000_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await check("wrong-key");
  await page.getByLabel("Key").fill(key);
  await page.keyboard.press("Enter");
  await page.waitForURL(`${origin}/documents`);
  await check("documents");

  await page.goto(`${origin}/`);
  await check("home");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("/");
  await page.keyboard.type("How is a segment made durable?");
  await page.keyboard.press("Enter");
  await page.locator(".hit").first().waitFor();
  assert.ok(await page.locator(".hit mark").count() > 0, "nothing is highlighted");
  await check("results");

  await page.evaluate(() => document.activeElement.blur());
  for (const [pressed, at] of [["j", 0], ["j", 1], ["j", 2], ["k", 1]]) {
    await page.keyboard.press(pressed);
    const link = page.locator(".hit h3 a").nth(at);
    assert.ok(await link.evaluate((element) => element === document.activeElement), `${pressed} leads to hit ${at}`);
    assert.ok(await inView(link));
  }
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/note\/.*#here$/);
  const here = page.locator("#here");
  assert.ok(await inView(here), "what is cited is not in view");
  await check("reader");

  // Without a fragment it is in view, too: that is how citations are written.
  await page.goto(page.url().replace("#here", ""));
  assert.ok(await inView(page.locator("#here")), "the plain link does not lead to what is cited");

  if (!isPhone) assert.ok(await inView(page.locator(".outline [aria-current]")), "the outline does not show where one is");

  const cited = await page.locator(".steps .cite").innerText();
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("j");
  await page.waitForFunction((before) => document.querySelector(".steps .cite")?.innerText !== before, cited);
  assert.ok(await inView(page.locator("#here")));

  await page.goto(`${origin}/read/format.md`);
  const outline = page.locator("#outline");
  assert.equal(await outline.evaluate((element) => element.open), !isPhone);
  if (isPhone) await outline.locator("summary").first().click();
  await check("outline");
  const entry = outline.locator("ol a:visible").nth(4);
  const title = await entry.innerText();
  await entry.click();
  const place = page.locator(`${await page.evaluate(() => location.hash)}`);
  await place.waitFor({ state: "attached" });
  assert.ok(await inView(place), `the outline does not lead to ${title}`);
  await check("section");

  await page.goto(`${origin}/?q=log&filter=%3D%3D`);
  await page.getByRole("alert").waitFor();
  await check("wrong-filter");
  await page.goto(`${origin}/?q=What+is+a+segment%3F&answer=1`);
  await page.locator(".answer").waitFor();
  await check("answer");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(/\/sign-in/);
  await page.goto(`${origin}/`);
  assert.match(page.url(), /\/sign-in/);
  await close();
}

/** A name that is no loopback, over plain HTTP: the browser tells less of where a form comes from. */
async function byName(browser, { origin, key }) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const named = origin.replace("127.0.0.1", "loci.test");
  await page.goto(`${named}/documents`);
  await page.getByLabel("Key").fill(key);
  await page.keyboard.press("Enter");
  await page.waitForURL(`${named}/documents`);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(/\/sign-in/);
  await context.close();
}

/** The same without a script, and from another site: a link leads to what is cited, though no cookie comes with it. */
async function plainly(browser, { origin, key }) {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: PHONE });
  const page = await context.newPage();
  await page.goto(`${origin}/sign-in`);
  await page.getByLabel("Key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByLabel("Question").fill("segment");
  await page.getByRole("button", { name: "Search" }).click();
  const link = page.locator(".hit h3 a").first();
  const path = (await link.getAttribute("href")).replace("#here", "");
  await link.click();
  await page.waitForURL(/#here$/);
  assert.ok((await page.locator("#here").boundingBox()).y < PHONE.height);

  // `localhost` is another site than `127.0.0.1`.
  await page.route("http://localhost:9/", (route) => route.fulfill({
    contentType: "text/html", body: `<a href="${origin}${path}">a citation</a>`,
  }));
  await page.goto("http://localhost:9/");
  await page.getByText("a citation").click();
  await page.locator("#here").waitFor();
  await context.close();
}

async function main() {
  mkdirSync(shots, { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), "loci-pages-"));
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP loci.test 127.0.0.1"],
  });
  let served;
  try {
    served = await serve(folder);
    for (const size of [DESK, PHONE]) {
      for (const colours of ["light", "dark"]) await visit(browser, served, size, colours);
    }
    await plainly(browser, served);
    await byName(browser, served);
    console.log("the pages are as they should be");
  } finally {
    await browser.close();
    served?.child.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
