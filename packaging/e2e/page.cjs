// Looks at the status page in a real browser and prints one JSON object per finding, as a line. Usage:
//   node page.cjs URL FOLDER [TOKEN]
// FOLDER gets the pictures. A line on stdin means that the configuration was saved just now.
"use strict";
const { chromium } = require("playwright-core");
const fs = require("node:fs");
const path = require("node:path");
const readline = require("node:readline");

const [url, folder, token] = process.argv.slice(2);
const say = (what, value) => console.log(JSON.stringify({ what, value }));
const axeSource = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

async function main() {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
  const faults = [];
  const open = async (options) => {
    // The page's own policy forbids the checker's script, as it should; only the look for barriers goes around it.
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
    await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: new URL(url).origin });
    const page = await context.newPage();
    page.on("console", (m) => m.type() === "error" && faults.push(m.text()));
    page.on("pageerror", (e) => faults.push(String(e)));
    page.on("dialog", (d) => { faults.push("dialog: " + d.message()); d.dismiss(); });
    await page.goto(url);
    return page;
  };
  const signIn = async (page) => {
    if (!token) return;
    await page.getByLabel("This service wants its token").fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("the token is wrong").waitFor();
    await page.getByLabel("This service wants its token").fill(token);
    await page.getByRole("button", { name: "Show" }).click();
  };

  const page = await open({});
  await signIn(page);
  const servers = page.locator("#servers article");
  await servers.nth(2).waitFor();
  await page.locator("#computers article").first().waitFor();
  await page.locator("#computers img.screen:not([hidden])").waitFor();
  say("servers", await servers.locator("h3").allTextContents());
  say("computers", await page.locator("#computers h3").allTextContents());
  say("elements made of names", await page.locator("main img:not(.screen), main script, main iframe, main b").count());
  if (!token) { // signing in has moved where Tab goes on from
    const fresh = await open({});
    await fresh.locator("#servers article").first().waitFor();
    await fresh.keyboard.press("Tab");
    say("first stop of the Tab key", await fresh.evaluate(() => document.activeElement.textContent));
    await fresh.keyboard.press("Enter");
    say("the skip link leads to", await fresh.evaluate(() => document.activeElement.id));
  }
  await page.getByRole("button", { name: /^Copy the command: restart .*img/ }).click();
  say("copied", await page.evaluate(() => navigator.clipboard.readText()));
  say("announced", await page.locator("#copied").textContent());

  await page.getByLabel("Only those with").fill("server ready");
  say("events with the filter", [...new Set((await page.locator("#events .what").allTextContents()).map((t) => t.split(" ").slice(0, 2).join(" ")))]);
  await page.getByLabel("Only those with").fill("");

  for (const colorScheme of token ? ["light"] : ["light", "dark"]) {
    for (const width of token ? [1200] : [1200, 360]) {
      const view = await open({ colorScheme, viewport: { width, height: 900 }, bypassCSP: true });
      await signIn(view);
      await view.locator("#servers article").nth(2).waitFor();
      await view.locator("#computers article").scrollIntoViewIfNeeded(); // a screen that cannot be seen is not asked for
      await view.locator("#computers img.screen:not([hidden])").waitFor();
      await view.screenshot({ path: path.join(folder, `page-${colorScheme}-${width}.png`), fullPage: true });
      say("wider than the window", await view.evaluate(() => document.documentElement.scrollWidth - window.innerWidth));
      await view.addScriptTag({ content: axeSource });
      const { violations } = await view.evaluate(() => window.axe.run());
      say("barriers", violations.map((v) => `${v.impact} ${v.id}: ${v.nodes.map((n) => n.target).join(" ")}`));
      await view.context().close();
    }
  }

  say("ready", true);
  const lines = readline.createInterface({ input: process.stdin });
  await new Promise((resolve) => lines.once("line", resolve));
  const saved = Date.now();
  await page.locator("#servers h3", { hasText: /^later$/ }).waitFor();
  say("milliseconds until an edit shows", Date.now() - saved);
  say("faults", faults.filter((f) => !(token && f.includes("401"))));
  lines.close();
  await browser.close();
}

main().catch((error) => { console.error(error); process.exit(1); });
