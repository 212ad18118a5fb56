"""How the page looks."""

STYLE = """
:root { --ink:#1d1c1d; --soft:#616061; --line:#e3e2e6; --paper:#fff; --ground:#f6f5f8;
  --link:#1264a3; --accent:#4a154b; --private:#fbf6e9; --private-line:#e8d9a8; }
* { box-sizing:border-box; }
body { margin:0; background:var(--ground); color:var(--ink);
  font:15px/1.46 Lato,"Helvetica Neue",Inter,"Segoe UI",Arial,sans-serif; }
body > header { background:var(--accent); color:#fff; padding:18px 28px; }
body > header h1 { margin:0; font-size:20px; }
body > header p { margin:2px 0 0; opacity:.8; font-size:13px; }
main { columns:2 560px; column-gap:20px; padding:20px 28px 40px; }
.channel { break-inside:avoid; margin-bottom:20px; background:var(--paper);
  border:1px solid var(--line); border-radius:10px;
  overflow:hidden; box-shadow:0 1px 3px #1d1c1d14; }
.channel > h2 { margin:0; padding:12px 18px; font-size:17px; border-bottom:1px solid var(--line); }
.channel > h2 small { font-weight:400; color:var(--soft); font-size:13px; margin-left:8px; }
.empty { padding:18px; color:var(--soft); font-style:italic; }
.message { display:flex; gap:10px; padding:10px 18px; }
.message .face { flex:none; width:36px; height:36px; border-radius:8px; color:#fff;
  font-weight:700; display:grid; place-items:center; font-size:15px; }
.message .body { flex:1; min-width:0; overflow-wrap:anywhere; }
.who { font-weight:800; }
.app { background:#ececee; color:var(--soft); font-size:10px; font-weight:700; padding:1px 4px;
  border-radius:3px; margin-left:5px; vertical-align:1px; }
.when, .mark { color:var(--soft); font-size:12px; margin-left:6px; font-weight:400; }
.only::before { content:"◉ "; } .told::before { content:"● "; color:#d69e2e; }
.told { display:inline-block; margin-top:4px; font-size:12px; color:#7c5200; background:#fff4d6;
  border-radius:10px; padding:1px 9px; }
.private { background:var(--private); border-block:1px solid var(--private-line); }
.only { color:#7a6320; font-size:12px; display:block; margin-bottom:2px; }
.act { color:var(--soft); font-size:13px; padding:5px 18px 5px 64px; overflow-wrap:anywhere; }
.act code { font-size:12.5px; }
.act.failed { color:#b3261e; }
.thread { border-left:3px solid var(--line); margin:2px 18px 10px 64px; }
.thread .message { padding:6px 12px; }
.thread .face { width:26px; height:26px; border-radius:6px; font-size:12px; }
.thread > p { margin:0; padding:2px 12px; font-size:12px; color:var(--link); font-weight:700; }
h3 { font-size:17px; margin:4px 0 6px; line-height:1.3; }
.section { display:flex; gap:14px; justify-content:space-between; margin:5px 0; }
.grow { flex:1; min-width:0; }
.fields { display:grid; grid-template-columns:1fr 1fr; gap:8px 18px; margin:5px 0; }
.context { display:flex; flex-wrap:wrap; gap:2px 10px; color:var(--soft); font-size:13px;
  margin:5px 0; }
.actions { display:flex; flex-wrap:wrap; gap:8px; margin:8px 0; }
.button { border:1px solid #bbb9bf; border-radius:6px; padding:4px 12px; font-weight:700;
  font-size:13px; background:#fff; align-self:flex-start; white-space:nowrap; }
.button.primary { background:#007a5a; border-color:#007a5a; color:#fff; }
.button.danger { background:#fff; border-color:#d01b4f; color:#d01b4f; }
.button.menu { font-weight:400; color:var(--soft); }
.file { border:1px solid var(--line); border-radius:6px; padding:8px 12px; margin:6px 0; }
.file summary { cursor:pointer; } .file pre { max-height:340px; overflow:auto; }
hr { border:0; border-top:1px solid var(--line); margin:10px 0; }
a { color:var(--link); text-decoration:none; }
.mention { color:var(--link); background:#e8f2fa; border-radius:3px; padding:0 3px; }
time { border-bottom:1px dotted #b5b3b9; }
code { font:12.5px/1.4 Menlo,Consolas,"DejaVu Sans Mono",monospace; color:#b3124a;
  background:#f7f5f7; border:1px solid var(--line); border-radius:3px; padding:1px 4px; }
pre { font:12.5px/1.5 Menlo,Consolas,"DejaVu Sans Mono",monospace; margin:6px 0; padding:8px 10px;
  background:#f8f7f9; border:1px solid var(--line); border-radius:5px; white-space:pre-wrap; }
blockquote { margin:4px 0; padding-left:10px; border-left:4px solid #d5d3d9; }
ul, ol { margin:4px 0; padding-left:24px; }
.scroll { overflow-x:auto; margin:6px 0; }
table { border-collapse:collapse; font-size:13.5px; }
td { border:1px solid var(--line); padding:5px 11px; white-space:nowrap; vertical-align:top; }
tr:first-of-type td { font-weight:700; background:#f8f7f9; }
td.right { text-align:right; font-variant-numeric:tabular-nums; } td.center { text-align:center; }
caption { text-align:left; font-weight:700; padding-bottom:5px; }
.pages { color:var(--soft); font-size:12px; }
.image, .picture { display:inline-block; background:#eeedf1; color:var(--soft); border-radius:6px;
  padding:26px 34px; font-size:13px; } .picture { padding:2px 8px; }
img.shown { display:block; max-width:560px; width:100%; border:1px solid var(--line);
  border-radius:8px; margin:6px 0; }
.chart { border:1px solid var(--line); border-radius:8px; padding:10px 14px; margin:6px 0; }
.bar { display:flex; align-items:center; gap:8px; font-size:13px; margin:3px 0; }
.bar span { width:34%; color:var(--soft); } .bar i { height:12px; background:#36a3d9;
  border-radius:3px; min-width:2px; } .bar em { font-style:normal; }
.task { border:1px solid var(--line); border-radius:8px; padding:8px 12px; margin:5px 0; }
.input { margin:8px 0; } .input div { border:1px solid #bbb9bf; border-radius:5px;
  padding:5px 10px; color:var(--soft); margin-top:3px; }
.view { padding:8px 18px 14px; }
"""
