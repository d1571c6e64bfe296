// also: RC302
const fs = require("fs");

function Tasks(path) {
  this.path = path;
}

Tasks.prototype.all = function () {
  return JSON.parse(fs.readFileSync(this.path, "utf8"));
};

Tasks.prototype.keep = function (tasks) {
  fs.writeFileSync(this.path, JSON.stringify(tasks)); // expect: RC101 read=9
};

Tasks.prototype.add = function (task) {
  var tasks = this.all();
  tasks.push(task);
  this.keep(tasks);
};

var tasks = new Tasks("/data/tasks.json");
require("express")()
  .post("/tasks", function (req, res) {
    tasks.add(req.body);
    res.end();
  })
  .listen(3000);
