-- echo <text>
print(table.concat({ ... }, " "))
