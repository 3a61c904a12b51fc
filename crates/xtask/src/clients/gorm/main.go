// Scenarios of GORM: gorm PORT PASSWORD. What each came to is printed as "status\tscenario\twhy".
// Expectations are what PostgreSQL 15 gives the same client.
package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// User has many pets.
type User struct {
	ID        uint
	Name      string `gorm:"size:40;uniqueIndex"`
	Age       int    `gorm:"default:18;index"`
	Price     string `gorm:"type:numeric(10,2);default:0"`
	CreatedAt time.Time
	DeletedAt gorm.DeletedAt `gorm:"index"`
	Pets      []Pet          `gorm:"constraint:OnDelete:CASCADE"`
}

// Pet belongs to a user.
type Pet struct {
	ID     uint
	UserID uint
	Kind   string
}

func same(found, expected any) error {
	if !reflect.DeepEqual(found, expected) {
		return fmt.Errorf("%v instead of %v", found, expected)
	}
	return nil
}

func names(db *gorm.DB, users []User) []string {
	var found []string
	for _, user := range users {
		var row User
		db.First(&row, user.ID)
		found = append(found, row.Name)
	}
	return found
}

type scenario struct {
	name string
	run  func(*gorm.DB) error
}

var scenarios = []scenario{
	{"migration finds nothing to change the second time", func(db *gorm.DB) error {
		if err := db.AutoMigrate(&User{}, &Pet{}); err != nil {
			return err
		}
		types, err := db.Migrator().ColumnTypes(&User{})
		if err != nil {
			return err
		}
		var found []string
		for _, column := range types {
			found = append(found, column.Name()+" "+column.DatabaseTypeName())
		}
		expected := []string{"id int8", "name varchar", "age int8", "price numeric", "created_at timestamptz", "deleted_at timestamptz"}
		if err := same(found, expected); err != nil {
			return err
		}
		return same([]bool{db.Migrator().HasIndex(&User{}, "Age"), db.Migrator().HasConstraint(&User{}, "Pets")}, []bool{true, true})
	}},
	{"batch upsert gives each row its id", func(db *gorm.DB) error {
		db.Create(&[]User{{Name: "a"}, {Name: "b"}})
		users := []User{{Name: "a", Age: 1}, {Name: "new", Age: 2}, {Name: "b", Age: 3}, {Name: "new2", Age: 4}}
		update := clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"age"})}
		if err := db.Clauses(update).Create(&users).Error; err != nil {
			return err
		}
		return same(names(db, users), []string{"a", "new", "b", "new2"})
	}},
	{"associations, soft deletion, paging", func(db *gorm.DB) error {
		user := User{Name: "Ann", Pets: []Pet{{Kind: "cat"}, {Kind: "dog"}}}
		if err := db.Create(&user).Error; err != nil {
			return err
		}
		var found User
		if err := db.Preload("Pets").Where("name = ?", "Ann").First(&found).Error; err != nil {
			return err
		}
		if err := same([]any{len(found.Pets), found.Age, found.Price}, []any{2, 18, "0.00"}); err != nil {
			return err
		}
		db.Delete(&found)
		var count int64
		db.Model(&User{}).Count(&count)
		var all int64
		db.Unscoped().Model(&User{}).Count(&all)
		return same([]int64{count, all}, []int64{0, 1})
	}},
	{"transactions and savepoints", func(db *gorm.DB) error {
		err := db.Transaction(func(tx *gorm.DB) error {
			if err := tx.Create(&User{Name: "kept"}).Error; err != nil {
				return err
			}
			tx.Transaction(func(inner *gorm.DB) error {
				inner.Create(&User{Name: "undone"})
				return fmt.Errorf("undo")
			})
			return nil
		})
		if err != nil {
			return err
		}
		var users []User
		db.Order("name").Find(&users)
		return same(names(db, users), []string{"kept"})
	}},
}

func value(name, usual string) string {
	if found := os.Getenv(name); found != "" {
		return found
	}
	return usual
}

func main() {
	place := fmt.Sprintf("host=127.0.0.1 port=%s password=%s user=%s dbname=%s", os.Args[1], os.Args[2],
		value("CLIENT_USER", "tessera"), value("CLIENT_DATABASE", "tessera"))
	for _, scenario := range scenarios {
		db, err := gorm.Open(postgres.Open(place), &gorm.Config{Logger: logger.Discard})
		if err == nil {
			db.Migrator().DropTable(&Pet{}, &User{})
			err = db.AutoMigrate(&User{}, &Pet{})
		}
		if err == nil {
			err = scenario.run(db)
			db.Migrator().DropTable(&Pet{}, &User{})
		}
		if err != nil {
			why := strings.Join(strings.Fields(err.Error()), " ")
			fmt.Printf("FAILED\t%s\t%s\n", scenario.name, why)
			continue
		}
		fmt.Printf("ok\t%s\t\n", scenario.name)
	}
}
